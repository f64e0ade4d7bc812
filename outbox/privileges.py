"""What the application's role may do to each table of this app. `console/privileges.py` applies it."""

PRIVILEGES: dict[str, str] = {
    "outbox_effect": (
        "SELECT, INSERT, UPDATE (state, version, fence, may_have_left, attempts_used, key_clock_started_at,"
        " lease_owner, lease_expires_at, next_step, next_at, because, quarantined, ended_at)"
    ),
    "outbox_attempt": (
        "SELECT, INSERT, UPDATE (send_started_at, finished_at, outcome, provider_request_id, http_status, detail,"
        " response, late)"
    ),
    "outbox_lookup": "SELECT, INSERT",
    "outbox_verdict": "SELECT, INSERT",
    "outbox_repair": "SELECT, INSERT",
    "outbox_remediation": "SELECT, INSERT, UPDATE (state, done_at)",
    "outbox_remediationstep": "SELECT, INSERT",
    "outbox_destinationpause": "SELECT, INSERT, UPDATE (until, because)",
    "outbox_repairplan": "SELECT, INSERT",
}
