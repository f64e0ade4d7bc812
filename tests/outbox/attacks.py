"""Plain SQL against the guards of effects: each piece breaks one rule, and is well-formed but for that.

The payments of R-7 and R-8 are of their second candidates, the first were denied. A worker holds that of R-7; that of
R-8 was sent, its recall is authorized, and a finished remediation belongs to it. R-9 is under review.
"""

from tests.attacking import FOREIGN_KEY, UNIQUE, copy_of

HELD, SENT, RECALL = (f"operation_id = '{number}'" for number in ("R-7:pay:v6", "R-8:pay:v6", "R-8:recall:v10"))
OF_HELD, OF_SENT = "effect_id = 'R-7:pay:v6'", "effect_id = 'R-8:pay:v6'"
RISEN, UNHELD = "version = version + 1", "lease_owner = NULL, lease_expires_at = NULL"
NEW = "gen_random_uuid()"


def effect_for(snapshot: str, **other: str) -> str:
    """Insert an effect for a snapshot that has none, as authorizing would, but for the columns given."""
    columns = ("run_id", "action", "compensates", "manifest_sha256", "payload_sha256", "destination",
               "destination_revision")  # fmt: skip
    taken = {name: f"(SELECT {name} FROM approvals_snapshot WHERE id = '{snapshot}')" for name in columns}
    begun = {
        "operation_id": "'R-0:pay:v9'", "snapshot_id": f"'{snapshot}'", "idempotency_key": "'R-0:pay:v9'",
        "authorized_seq": "1", "state": "'pending'", "fence": "0", "may_have_left": "false", "lease_owner": "NULL",
        "lease_expires_at": "NULL", "version": "1",
    }  # fmt: skip
    return copy_of("outbox_effect", HELD, **taken | begun | other)


SQLSTATES = {
    "outbox_effect_one_open": UNIQUE,
    "outbox_effect_key_once": UNIQUE,
    "outbox_attempt_fence_once": UNIQUE,
    "outbox_effect_in_ledger": FOREIGN_KEY,
}

#: By the application: rule -> statements, each refused by it.
BY_APPLICATION: dict[str, list[str]] = {
    "outbox_effect_begins": [
        effect_for("R-9:review:v3:c1", **changed)
        for changed in ({"state": "'dispatching'"}, {"state": "'succeeded'"}, {"fence": "1"}, {"may_have_left": "true"})
    ],
    "outbox_effect_of_snapshot": [
        effect_for("R-9:review:v3:c1", **changed)
        for changed in (
            {"payload_sha256": "'sha256:0'"},
            {"manifest_sha256": "'sha256:0'"},
            {"destination": "'elsewhere'"},
            {"destination_revision": "99"},
            {"action": "'recall'"},
            {"compensates": "'R-8:pay:v6'"},
            {"run_id": "(SELECT id FROM runs_run WHERE key = 'R-7')"},
            {"snapshot_id": "'R-0:review:v1:c1'"},
        )
    ],
    "outbox_effect_in_ledger": [effect_for("R-9:review:v3:c1", authorized_seq="1000")],
    "outbox_effect_one_open": [effect_for("R-7:review:v3:c1")],
    "outbox_effect_key_once": [effect_for("R-9:review:v3:c1", idempotency_key="'R-7:pay:v6'")],
    "outbox_effect_state_legal": [
        f"UPDATE outbox_effect SET state = '{state}', {UNHELD}, {RISEN} WHERE {which}"
        for which, states in (
            (HELD, ("pending",)),
            (RECALL, ("succeeded", "failed")),
            (SENT, ("pending", "dispatching", "failed", "cancelled", "needs_reconciliation")),
        )
        for state in states
    ],
    "outbox_effect_version": [
        f"UPDATE outbox_effect SET because = 'x' WHERE {HELD}",
        f"UPDATE outbox_effect SET because = 'x', version = version - 1 WHERE {HELD}",
    ],
    "outbox_fence_rises": [f"UPDATE outbox_effect SET fence = fence - 1, {RISEN} WHERE {HELD}"],
    "outbox_effect_lease_whole": [
        f"UPDATE outbox_effect SET {change}, {RISEN} WHERE {which}"
        for change, which in (
            ("lease_owner = NULL", HELD),
            ("lease_expires_at = NULL", HELD),
            ("state = 'needs_reconciliation'", HELD),
            ("lease_owner = 'worker-x', lease_expires_at = now()", RECALL),
        )
    ],
    "outbox_effect_end_proven": [
        f"UPDATE outbox_effect SET state = '{state}', {UNHELD}, {RISEN} WHERE {HELD}"
        for state in ("failed", "cancelled")
    ],
    "outbox_attempt_of_lease": [
        copy_of("outbox_attempt", OF_HELD, number="2", **changed)
        for changed in ({"fence": "9"}, {"worker": "'worker-x'"}, {"outcome": "'accepted'"}, {"late": "'{}'"})
    ] + [copy_of("outbox_attempt", OF_SENT, number="2", outcome="NULL", finished_at="NULL")],
    "outbox_attempt_fence_once": [copy_of("outbox_attempt", OF_HELD, number="2")],
    "outbox_attempt_frozen": [
        f"UPDATE outbox_attempt SET {change} WHERE {OF_SENT}"
        for change in ("outcome = 'unknown'", "outcome = NULL", "provider_request_id = 'p-9'", "detail = 'x'",
                       "http_status = 500", "finished_at = now()", "send_started_at = NULL", "response = 'x'")
    ],
    "outbox_remediation_begins": [copy_of("outbox_remediation", OF_SENT, id=NEW)],
    "outbox_remediation_done": [
        f"UPDATE outbox_remediation SET {change} WHERE {OF_SENT}" for change in ("state = 'open'", "done_at = now()")
    ],
    "outbox_payload_in_use": ["UPDATE approvals_snapshot SET payload = NULL WHERE id = 'R-8:review:v5:c2'"],
}  # fmt: skip

#: By the owner of the tables, where the application has not even the right.
BY_OWNER: dict[str, list[str]] = {
    "outbox_effect_kept": [f"DELETE FROM outbox_effect WHERE {HELD}"],
    "outbox_effect_frozen": [
        f"UPDATE outbox_effect SET {change}, {RISEN} WHERE {HELD}"
        for change in ("payload_sha256 = 'x'", "idempotency_key = 'x'", "destination_revision = 99", "approvals = '{}'",
                       "attempts_allowed = 99", "authorized_by = 'agent:x'", "ledger_epoch = 2")
    ],
    "outbox_attempt_frozen": [
        f"UPDATE outbox_attempt SET {change} WHERE {OF_HELD}"
        for change in ("fence = 9", "number = 9", "worker = 'x'", "left_before = true", "send_by = now()")
    ] + [f"DELETE FROM outbox_attempt WHERE {OF_HELD}"],
    "outbox_lookup_frozen": ["UPDATE outbox_lookup SET answer = 'found'", "DELETE FROM outbox_lookup"],
    "outbox_verdict_frozen": ["UPDATE outbox_verdict SET verdict = 'happened'", "DELETE FROM outbox_verdict"],
    "outbox_repair_frozen": ["UPDATE outbox_repair SET by = 'user:dan'", "DELETE FROM outbox_repair"],
    "outbox_repair_plan_frozen": ["UPDATE outbox_repairplan SET rows = '[]'", "DELETE FROM outbox_repairplan"],
    "outbox_remediation_done": ["DELETE FROM outbox_remediation", "UPDATE outbox_remediation SET because = 'x'"],
    "outbox_remediation_step_frozen": [
        "UPDATE outbox_remediationstep SET evidence = ''",
        "DELETE FROM outbox_remediationstep",
    ],
}  # fmt: skip

#: Constraints that another rule is always met before -> which.
BEHIND_ANOTHER = {"outbox_effect_state_known": "outbox_effect_state_legal"}

#: What the application may not even try.
NOT_ALLOWED = [
    "UPDATE outbox_effect SET payload_sha256 = ''",
    "UPDATE outbox_effect SET idempotency_key = ''",
    "UPDATE outbox_effect SET destination = ''",
    "UPDATE outbox_effect SET approvals = '{}'",
    "UPDATE outbox_attempt SET fence = 9",
    "UPDATE outbox_attempt SET send_by = now()",
    "UPDATE outbox_lookup SET answer = 'found'",
    "UPDATE outbox_verdict SET verdict = 'happened'",
    "UPDATE outbox_repair SET confirmed_by = 'user:dan'",
    "UPDATE outbox_remediation SET because = ''",
    "UPDATE outbox_remediationstep SET evidence = ''",
    "UPDATE outbox_repairplan SET rows = ''",
    *(f"DELETE FROM outbox_{name}" for name in
      ("effect", "attempt", "lookup", "verdict", "repair", "remediation", "remediationstep", "destinationpause",
       "repairplan")),
    "TRUNCATE outbox_effect CASCADE",
]  # fmt: skip
