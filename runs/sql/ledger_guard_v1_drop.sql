DROP TRIGGER runs_ledger_guard ON runs_ledgerentry;
DROP FUNCTION runs_ledger_guard();
ALTER TABLE runs_run DROP CONSTRAINT runs_run_head_in_ledger;
ALTER TABLE runs_ledgerentry DROP CONSTRAINT runs_ledger_predecessor;
ALTER TABLE runs_ledgerentry DROP COLUMN prev_seq;
