DROP INDEX runs_ledger_by_time;
