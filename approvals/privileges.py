"""What the application's role may do to each table of this app. `console/privileges.py` applies it."""

PRIVILEGES: dict[str, str] = {
    "approvals_content": "SELECT, INSERT, UPDATE (body, in_storage, erased_at)",
    "approvals_artifact": "SELECT, INSERT",
    "approvals_destinationrevision": "SELECT, INSERT",
    "approvals_snapshot": "SELECT, INSERT, UPDATE (payload)",
    "approvals_standingapproval": "SELECT, INSERT, UPDATE (used, spent, revoked_at, revoked_by)",
    "approvals_decision": "SELECT, INSERT, UPDATE (revoked_at, revoked_by, revoked_seq, spent_by)",
    "approvals_shown": "SELECT, INSERT, UPDATE (last_at)",
}
