"""What the application's role may do to each table of this app: the first line of the database's guards.

Nothing may be deleted or truncated. Frozen tables can only be read and added to; of head rows only the
columns that move can be updated. `console/privileges.py` applies it after every migration.
"""

#: Table -> privileges granted to the application's role. What is not named is not granted.
PRIVILEGES: dict[str, str] = {
    "runs_person": "SELECT, INSERT, UPDATE",
    "runs_agent": "SELECT, INSERT, UPDATE",
    "runs_installation": "SELECT, UPDATE (authority_epoch, is_halted, halted_by, halted_at, halt_reason)",
    "runs_authoritychange": "SELECT, INSERT",
    "runs_workflowrevision": "SELECT, INSERT",
    "runs_policyversion": "SELECT, INSERT",
    "runs_run": (
        "SELECT, INSERT, UPDATE (revision, status, version, input_version, head_seq, head_hash, feed_xid, "
        " fields, active_snapshot, consent_contract, consent_facts, held, candidate_count, effect, updated_at,"
        " cycle_started_at)"
    ),
    "runs_ledgerentry": "SELECT, INSERT, UPDATE (body)",
    "runs_command": "SELECT, INSERT, UPDATE (state, answer, resolution, seq, at)",
    "runs_request": "SELECT, INSERT",
    "runs_conflict": "SELECT, INSERT, UPDATE (base, proposal, problem)",
    "runs_episode": "SELECT, INSERT, UPDATE",
    "runs_escalation": "SELECT, INSERT, UPDATE",
    "runs_waitingstep": (
        "SELECT, INSERT, UPDATE (secret, state, settled_by, settled_by_person_id, settled_reason, settled_at,"
        " without_second_person, result)"
    ),
    "runs_notificationchoice": "SELECT, INSERT, UPDATE",
    "runs_notification": "SELECT, INSERT, UPDATE (due_at, begun_at, sent_at, failed_count, last_failure)",
    "runs_savedfilter": "SELECT, INSERT, UPDATE (query, is_removed)",
}
