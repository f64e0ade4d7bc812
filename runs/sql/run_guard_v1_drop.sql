DROP TRIGGER runs_run_guard ON runs_run;
DROP FUNCTION runs_run_guard();
DROP FUNCTION runs_refuse(text, text);
DROP FUNCTION runs_status_steps();
ALTER TABLE runs_run RESET (fillfactor);
