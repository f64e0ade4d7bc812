"""What the application's role may do to each table of this app."""

PRIVILEGES: dict[str, str] = {}
