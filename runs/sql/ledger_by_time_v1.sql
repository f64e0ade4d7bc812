-- Entries are written in the order of time, so a block-range index finds a time among millions and costs nothing to keep.

CREATE INDEX runs_ledger_by_time ON runs_ledgerentry USING brin (at) WITH (autosummarize = on);
