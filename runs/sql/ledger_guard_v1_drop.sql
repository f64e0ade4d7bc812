DROP TRIGGER runs_ledger_guard ON runs_ledgerentry;
DROP FUNCTION runs_ledger_guard();
DROP FUNCTION runs_is_at_rest(bigint);
DROP TRIGGER runs_ledger_chain ON runs_ledgerentry;
DROP FUNCTION runs_ledger_chain();
ALTER TABLE runs_run DROP CONSTRAINT runs_run_head_in_ledger;
