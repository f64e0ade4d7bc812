"""What the application's role may do to each table of this app. `console/privileges.py` applies it."""

PRIVILEGES: dict[str, str] = {
    "outbox_effect": "SELECT, INSERT, UPDATE (state, version, fence, may_have_left, ended_at)",
}
