"""Plain SQL against the guards of the tables of runs: each piece breaks one rule, and is well-formed but for that."""

CHECK, FOREIGN_KEY, UNIQUE = "23514", "23503", "23505"

MOVES = "feed_xid = greatest(feed_xid, pg_current_xact_id())"
HEAD = f"head_seq = head_seq + 1, {MOVES}"
STEP = f"version = version + 1, {HEAD}"


def update(key: str, assignments: str) -> str:
    return f"UPDATE runs_run SET {assignments} WHERE key = '{key}';"


def insert(table: str, columns: dict[str, str], source: str = "") -> str:
    """Insert a row whose columns are these expressions, over the rows of `source` where there is one."""
    return f"INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(columns.values())} {source};"


def run_row(key: str = "R-9", **other: str) -> str:
    """Insert a run as a run begins, but for the columns given."""
    columns = {
        "key": f"'{key}'", "workflow": "'refund'", "revision": "1", "status": "'received'", "version": "1",
        "input_version": "1", "head_seq": "1", "head_hash": "repeat('a', 64)", "feed_xid": "pg_current_xact_id()",
        "fields": "'{}'", "candidate_count": "0", "created_at": "now()", "updated_at": "now()",
        "cycle_started_at": "now()",
    } | other  # fmt: skip
    return insert("runs_run", columns)


def entry(key: str, **other: str) -> str:
    """Insert the entry that would follow the head which run `key` has now, but for the columns given."""
    columns = {
        "run_id": "r.id", "seq": "r.head_seq", "version": "r.version", "kind": "'command.committed'",
        "actor": "'agent:rogue'", "at": "now()", "touched": "'{}'", "body_sha256": "''", "hash": "r.head_hash",
        "prev_hash": "coalesce((SELECT hash FROM runs_ledgerentry l WHERE l.run_id = r.id AND l.seq = r.head_seq - 1),"
        " repeat('0', 64))",
        "feed_xid": "r.feed_xid",
    } | other  # fmt: skip
    return insert("runs_ledgerentry", columns, f"FROM runs_run r WHERE key = '{key}'")


def record(**other: str) -> str:
    """Insert the record of a new command of R-1, but for the columns given."""
    columns = {
        "run_id": "(SELECT id FROM runs_run WHERE key = 'R-1')", "principal": "'agent:rogue'", "command_id": "'c-9'",
        "name": "'assign'", "request_sha256": "''", "state": "'committed'", "answer": "'{}'", "seq": "1", "at": "now()",
    } | other  # fmt: skip
    return insert("runs_command", columns)


def conflict(**other: str) -> str:
    """Insert a refusal of the command `c-9` on version 1 of R-1, but for the columns given."""
    columns = {
        "id": "gen_random_uuid()", "run_id": "(SELECT id FROM runs_run WHERE key = 'R-1')", "workflow": "'refund'",
        "revision": "1", "principal": "'agent:rogue'", "command_id": "'c-9'", "name": "'assign'", "intent": "'assign'",
        "base_version": "1", "current_version": "1", "disposition": "'retry'", "rule": "'default'",
        "fields_touched": "'{}'", "problem": "'{}'", "at": "now()",
    } | other  # fmt: skip
    return insert("runs_conflict", columns)


def case(**other: str) -> str:
    """Insert a second case beside the open one of R-2, but for the columns given."""
    columns = {
        "id": "gen_random_uuid()", "run_id": "e.run_id", "conflict_id": "e.conflict_id", "workflow": "e.workflow",
        "principal": "e.principal", "intent": "'another'", "command_id": "e.command_id", "version": "1",
        "state": "'open'", "is_material": "false", "opened_at": "now()", "earlier_conflicts": "'{}'",
    } | other  # fmt: skip
    return insert("runs_escalation", columns, "FROM runs_escalation e WHERE state = 'open'")


def policy(version: str, authority_version: str) -> str:
    return (
        "INSERT INTO runs_policyversion (slug, version, authority_version, terms, actor, reason, without_second_person)"
        f" VALUES ('refund', {version}, {authority_version}, '{{}}', 'agent:rogue', '', false);"
    )


def person(name: str, roles: str = "{}") -> str:
    return (
        "INSERT INTO runs_person (password, username, email, roles, workflow_groups, is_active)"
        f" VALUES ('', '{name}', '', '{roles}', '{{}}', true);"
    )


EPOCH = "UPDATE runs_installation SET authority_epoch = authority_epoch + 1;"

#: By the application: rule -> statements, each refused by it.
BY_APPLICATION: dict[str, list[str]] = {
    # runs
    "runs_run_begins": [
        run_row(version="2"),
        run_row(head_seq="2"),
        run_row(input_version="3"),
        run_row(status="'approved'"),
        run_row(held="'[]'"),
        run_row(effect="'R-9:pay:v8'"),
        run_row(active_snapshot="'R-9:review:v1:c1'", consent_contract="'exact'", consent_facts="'{}'"),
    ],
    "runs_run_key_form": [run_row("R 9"), run_row("")],
    "runs_run_head_in_ledger": [
        run_row(),
        update("R-1", STEP),
        update("R-1", f"{STEP}, head_hash = 'b'") + entry("R-1", version="r.version - 1"),
    ],
    "runs_version_step": [update("R-2", f"version = {to}, {HEAD}") for to in ("version + 2", "version - 1")],
    "runs_change_needs_step": [
        update("R-2", f"{change}, {HEAD}")
        for change in (
            "status = 'cancelled'",
            "fields = '{}'",
            "revision = 2",
            "input_version = 2",
            "active_snapshot = 'R-2:review:v2:c1', consent_contract = 'exact', consent_facts = '{}'",
        )
    ],
    "runs_input_version_step": [
        update("R-2", f"input_version = {to}, {STEP}") for to in ("version - 2", "version + 2")
    ],
    "runs_step_needs_entry": [
        update("R-2", f"version = version + 1, {MOVES}"),
        update("R-2", f"held = NULL, {MOVES}"),
        update("R-2", f"head_seq = head_seq - 1, {MOVES}"),
    ],
    "runs_status_legal": [
        update("R-1", f"status = 'sent', {STEP}"),
        update("R-1", f"status = 'no such status', {STEP}"),
        update("R-4", f"status = 'working', {STEP}"),
    ],
    "runs_run_review_whole": [update("R-2", f"active_snapshot = 'R-2:review:v3:c1', {STEP}")],
    "runs_feed_order": [
        run_row(feed_xid="'1'"),
        update("R-2", "version = version + 1, head_seq = head_seq + 1, feed_xid = '1'"),
        update("R-2", "version = version + 1, head_seq = head_seq + 1, feed_xid = '9223372036854775807'"),
        update("R-2", f"{HEAD}, head_hash = 'b'") + entry("R-2", feed_xid="'1'"),
    ],
    # ledger
    "runs_ledger_ahead": [
        entry("R-1", seq="r.head_seq + 1", prev_hash="r.head_hash"),
        entry("R-1", seq="r.head_seq + 7"),
        entry("R-1", run_id="0", seq="1"),
    ],
    "runs_ledger_predecessor": [update("R-1", f"head_seq = head_seq + 2, {MOVES}") + entry("R-1")],
    "runs_ledger_version": [
        update("R-2", f"{HEAD}, head_hash = 'b'") + entry("R-2", version=version)
        for version in ("r.version - 1", "r.version + 2")
    ],
    "runs_ledger_linked": [
        update("R-2", f"{HEAD}, head_hash = 'b'") + entry("R-2", prev_hash="repeat('0', 64)"),
        update("R-2", f"{HEAD}, head_hash = 'b'") + entry("R-2", hash="'c'"),
    ],
    "runs_ledgerentry_pkey": [entry("R-2"), entry("R-2", seq="1")],
    "runs_ledger_frozen": ["UPDATE runs_ledgerentry SET body = 'forged';"],
    "runs_ledger_in_use": [
        f"UPDATE runs_ledgerentry SET body = NULL WHERE run_id = (SELECT id FROM runs_run WHERE key = '{key}');"
        for key in ("R-1", "R-2")
    ],
    # records
    "runs_command_tells_entry": [record(seq="NULL")],
    "runs_command_in_ledger": [record(seq="2"), record(run_id="0")],
    "runs_command_begins": [record(state="'superseded'"), record(run_id="0", state="'unchanged'", seq="NULL")],
    "runs_command_state_known": [record(state="'won'")],
    "runs_command_pkey": [record() + record()],
    "runs_command_state_legal": [
        f"UPDATE runs_command SET state = '{to}' WHERE state = '{start}';"
        for start, to in (
            ("committed", "retry"),
            ("committed", "committed"),
            ("escalated", "merged"),
            ("rejected", "retry"),
        )
    ],
    "runs_conflict_frozen": [
        "UPDATE runs_conflict SET problem = 'forged';",
        "UPDATE runs_conflict SET base = NULL, proposal = NULL, problem = 'forged';",
        "UPDATE runs_conflict SET proposal = 'forged';",
    ],
    "runs_conflict_retry_once": [conflict() + conflict()],
    # cases
    "runs_escalation_begins": [
        case(version="2"),
        case(state="'settled'", settled_at="now()", resolution="'{}'"),
    ],
    "runs_escalation_open_once": [case(intent="e.intent")],
    "runs_escalation_settled": [
        "UPDATE runs_escalation SET state = 'open', settled_at = NULL WHERE state = 'settled';",
        "UPDATE runs_escalation SET resolution = 'forged' WHERE state = 'settled';",
    ],
    "runs_escalation_identity": [
        f"UPDATE runs_escalation SET {change} WHERE state = 'open';"
        for change in ("principal = 'agent:rogue'", "intent = 'another'", "workflow = 'report'", "opened_at = now()")
    ],
    "runs_escalation_version_step": [
        "UPDATE runs_escalation SET version = version + 1 WHERE state = 'open';",
        "UPDATE runs_escalation SET command_id = 'c-other' WHERE state = 'open';",
        "UPDATE runs_escalation SET conflict_id = gen_random_uuid() WHERE state = 'open';",
    ],
    "runs_escalation_state_whole": ["UPDATE runs_escalation SET state = 'settled' WHERE state = 'open';"],
    # authority
    "runs_workflow_revision_step": [
        "INSERT INTO runs_workflowrevision (slug, revision, title, sha256, text, stored_by)"
        f" VALUES ('{slug}', {revision}, '', '', '', 'agent:rogue');"
        for slug, revision in (("refund", 3), ("refund", 1), ("new", 2))
    ],
    "runs_policy_version_step": [policy("3", "1"), policy("1", "1"), policy("2", "0"), policy("2", "3")],
    "runs_epoch_rises": ["UPDATE runs_installation SET authority_epoch = authority_epoch - 1;"],
    "runs_authority_needs_epoch": [
        "UPDATE runs_person SET roles = '{admin}' WHERE username = 'ada';",
        "UPDATE runs_person SET workflow_groups = '{refund-reviewers}' WHERE username = 'ada';",
        "UPDATE runs_person SET is_active = false WHERE username = 'ada';",
        "UPDATE runs_agent SET scopes = '{refund:pay}';",
        "UPDATE runs_agent SET expires_at = NULL;",
        person("mallory", "{admin}"),
        policy("2", "1"),
        "UPDATE runs_installation SET is_halted = true;",
    ],
    "runs_person_roles_known": [person("mallory", "{emperor}")],
    "runs_person_name_form": [person("-mallory"), person("mal lory")],
    "runs_agent_name_form": ["UPDATE runs_agent SET name = 'a b';" + EPOCH],
}

#: By the owner, whom privileges do not stop.
BY_OWNER: dict[str, list[str]] = {
    "runs_run_kept": ["DELETE FROM runs_run;"],
    "runs_run_identity": [
        update("R-2", f"{change}, {STEP}")
        for change in ("key = 'R-5'", "workflow = 'report'", "created_at = now()", "id = 77")
    ],
    "runs_ledger_frozen": [
        "DELETE FROM runs_ledgerentry;",
        "UPDATE runs_ledgerentry SET actor = 'agent:other';",
        "UPDATE runs_ledgerentry SET body = NULL, hash = '';",
    ],
    "runs_command_kept": ["DELETE FROM runs_command;"],
    "runs_command_identity": [
        f"UPDATE runs_command SET {change} WHERE state = 'escalated';"
        for change in ("request_sha256 = ''", "command_id = 'c-other'", "principal = 'agent:other'", "name = 'assign'")
    ],
    "runs_conflict_frozen": ["DELETE FROM runs_conflict;", "UPDATE runs_conflict SET rule = 'default';"],
    "runs_escalation_settled": ["DELETE FROM runs_escalation WHERE state = 'open';"],
    "runs_workflow_revision_frozen": [
        "DELETE FROM runs_workflowrevision;",
        "UPDATE runs_workflowrevision SET text = '';",
    ],
    "runs_policy_version_frozen": ["DELETE FROM runs_policyversion;", "UPDATE runs_policyversion SET terms = '';"],
    "runs_authority_change_frozen": [
        "DELETE FROM runs_authoritychange;",
        "UPDATE runs_authoritychange SET actor = '';",
    ],
    "runs_request_frozen": [
        "INSERT INTO runs_request (principal, request_id, name, request_sha256, evidence, answer)"
        " VALUES ('a', 'b', 'c', '', '{}', '');"
        f"{change};"
        for change in ("DELETE FROM runs_request", "UPDATE runs_request SET answer = 'forged'")
    ],
    "runs_epoch_rises": [
        "DELETE FROM runs_installation;",
        "UPDATE runs_installation SET ledger_epoch = ledger_epoch - 1;",
    ],
    "runs_installation_single": ["INSERT INTO runs_installation VALUES (2, 1, 1, false, '', NULL, '');"],
    "runs_authority_needs_epoch": ["DELETE FROM runs_agent;"],
}

#: How a rule that is no check is told.
SQLSTATES = {
    "runs_run_head_in_ledger": FOREIGN_KEY,
    "runs_command_in_ledger": FOREIGN_KEY,
    "runs_ledgerentry_pkey": UNIQUE,
    "runs_command_pkey": UNIQUE,
    "runs_conflict_retry_once": UNIQUE,
    "runs_escalation_open_once": UNIQUE,
}


#: Named rules that stand behind another one, which refuses first.
BEHIND_ANOTHER = {
    "runs_run_version_positive": "runs_run_begins",
    "runs_run_status_known": "runs_status_legal",
    "runs_ledger_seq_positive": "runs_ledger_predecessor",
    "runs_ledger_seq_version": "runs_ledgerentry_pkey",
    "runs_workflow_revision_once": "runs_workflow_revision_step",
    "runs_workflow_revision_positive": "runs_workflow_revision_step",
    "runs_policy_version_once": "runs_policy_version_step",
}
