"""Plain SQL against the guards of the tables of review: each piece breaks one rule, and is well-formed but for that.

R-42 is under review and approved by Ben; Cleo's approval of it was revoked. R-7 is under review as its second
candidate, its first was denied. R-8 was authorized by a standing approval of Bea's; another one was revoked.
"""

from tests.attacking import FOREIGN_KEY, UNIQUE, copy_of

CONTENT = "sha256 = (SELECT content_id FROM approvals_artifact WHERE id = 'R-42:research:6:a')"
ARTIFACT = "id = 'R-42:research:6:a'"
SNAPSHOT = "id = 'R-42:review:v7:c1'"
GIVEN = "revoked_at IS NULL AND spent_by IS NULL AND verdict = 'approve'"
REVOKED = "revoked_at IS NOT NULL"
DENIED = "verdict = 'deny'"
NEW = "gen_random_uuid()"

SQLSTATES = {
    "approvals_artifact_number_once": UNIQUE,
    "approvals_artifact_content_once": UNIQUE,
    "approvals_destination_revision_once": UNIQUE,
    "approvals_snapshot_candidate_once": UNIQUE,
    "approvals_decision_of_manifest": FOREIGN_KEY,
    "approvals_decision_in_ledger": FOREIGN_KEY,
}

#: By the application: rule -> statements, each refused by it.
BY_APPLICATION: dict[str, list[str]] = {
    "approvals_content_hash": [
        "INSERT INTO approvals_content (sha256, size, body, in_storage) VALUES ('sha256:0', 1, 'x', false)",
        f"INSERT INTO approvals_content (sha256, size, body, in_storage)"
        f" SELECT 'sha256:0', size, body, false FROM approvals_content WHERE {CONTENT}",
    ],
    "approvals_content_frozen": [
        f"UPDATE approvals_content SET body = 'x' WHERE {CONTENT}",
        f"UPDATE approvals_content SET body = NULL WHERE {CONTENT}",
        f"UPDATE approvals_content SET in_storage = true WHERE {CONTENT}",
    ],
    "approvals_artifact_number_once": [
        copy_of("approvals_artifact", ARTIFACT, id="'R-42:research:6:x'", content_id=
                "(SELECT content_id FROM approvals_artifact WHERE id = 'R-42:calculation:6:a')"),
    ],
    "approvals_artifact_content_once": [
        copy_of("approvals_artifact", ARTIFACT, id="'R-42:research:6:b'", number="2"),
    ],
    "approvals_destination_revision_once": [
        copy_of("approvals_destinationrevision", "name = 'payments'", id="1000000", url="'https://elsewhere.example/'"),
    ],
    "approvals_snapshot_candidate_once": [copy_of("approvals_snapshot", SNAPSHOT, id="'R-42:review:v8:c1'")],
    "approvals_snapshot_hash": [
        copy_of("approvals_snapshot", SNAPSHOT, id="'R-42:review:v8:c2'", candidate="2", **changed)
        for changed in (
            {"manifest": "'\\x00'::bytea"},
            {"payload": "'\\x00'::bytea"},
            {"payload": "NULL::bytea"},
            {"manifest_sha256": "payload_sha256"},
            {"payload_sha256": "manifest_sha256"},
        )
    ],
    "approvals_snapshot_frozen": [f"UPDATE approvals_snapshot SET payload = 'x' WHERE {SNAPSHOT}"],
    "approvals_payload_in_use": [f"UPDATE approvals_snapshot SET payload = NULL WHERE {SNAPSHOT}"],
    "approvals_decision_of_manifest": [
        copy_of("approvals_decision", GIVEN, id=NEW, manifest_sha256="'sha256:0'"),
        copy_of("approvals_decision", GIVEN, id=NEW, manifest_sha256=
                "(SELECT manifest_sha256 FROM approvals_snapshot WHERE id = 'R-7:review:v3:c1')"),
    ],
    "approvals_decision_in_ledger": [copy_of("approvals_decision", GIVEN, id=NEW, seq="seq + 1000")],
    "approvals_decision_begins": [
        copy_of("approvals_decision", GIVEN, id=NEW, spent_by="'R-42:send:v8'"),
        copy_of("approvals_decision", REVOKED, id=NEW),
        copy_of("approvals_decision", GIVEN, id=NEW, run_id="(SELECT id FROM runs_run WHERE key = 'R-7')"),
    ],
    "approvals_decision_deny_final": [
        f"UPDATE approvals_decision SET spent_by = 'R-7:pay:v8' WHERE {DENIED}",
        f"UPDATE approvals_decision SET revoked_at = now(), revoked_by = 'agent:x', revoked_seq = 1 WHERE {DENIED}",
    ],
    "approvals_decision_revocation_whole": [
        f"UPDATE approvals_decision SET {part} WHERE {GIVEN}"
        for part in ("revoked_at = now()", "revoked_by = 'agent:x'", "revoked_seq = 1")
    ],
    "approvals_decision_frozen": [
        f"UPDATE approvals_decision SET revoked_at = NULL, revoked_by = NULL, revoked_seq = NULL WHERE {REVOKED}",
        f"UPDATE approvals_decision SET revoked_by = 'agent:x' WHERE {REVOKED}",
        "UPDATE approvals_decision SET spent_by = 'R-8:pay:v9' WHERE spent_by IS NOT NULL",
        "UPDATE approvals_decision SET spent_by = NULL WHERE spent_by IS NOT NULL",
    ],
    "approvals_standing_begins": [
        copy_of("approvals_standingapproval", "revoked_at IS NULL", id=NEW, **changed)
        for changed in ({"used": "1"}, {"spent": "1"}, {"revoked_at": "now()", "revoked_by": "'agent:x'"})
    ],
    "approvals_standing_uses": ["UPDATE approvals_standingapproval SET used = uses + 1 WHERE revoked_at IS NULL"],
    "approvals_standing_total": ["UPDATE approvals_standingapproval SET spent = total + 1 WHERE revoked_at IS NULL"],
    "approvals_standing_only_spent": [
        "UPDATE approvals_standingapproval SET used = used - 1 WHERE used > 0",
        "UPDATE approvals_standingapproval SET spent = spent - 1 WHERE used > 0",
        "UPDATE approvals_standingapproval SET used = used + 1 WHERE revoked_at IS NOT NULL",
        "UPDATE approvals_standingapproval SET revoked_at = NULL WHERE revoked_at IS NOT NULL",
    ],
}  # fmt: skip

#: By the owner of the tables, where the application has not even the right.
BY_OWNER: dict[str, list[str]] = {
    "approvals_content_frozen": [f"DELETE FROM approvals_content WHERE {CONTENT}"],
    "approvals_artifact_frozen": [
        f"UPDATE approvals_artifact SET author = 'user:ben' WHERE {ARTIFACT}",
        f"DELETE FROM approvals_artifact WHERE {ARTIFACT}",
    ],
    "approvals_destination_frozen": [
        "UPDATE approvals_destinationrevision SET url = 'https://elsewhere.example/'",
        "DELETE FROM approvals_destinationrevision",
    ],
    "approvals_snapshot_frozen": [
        f"UPDATE approvals_snapshot SET {change} WHERE {SNAPSHOT}"
        for change in ("manifest = 'x'", "destination_revision = 2", "parts = '[]'", "payload = NULL, sentence = ''")
    ] + [f"DELETE FROM approvals_snapshot WHERE {SNAPSHOT}"],
    "approvals_decision_frozen": [
        f"UPDATE approvals_decision SET {change} WHERE {GIVEN}"
        for change in ("person_id = person_id + 1", "verdict = 'deny'", "authority_version = 9", "expires_at = NULL")
    ] + [f"DELETE FROM approvals_decision WHERE {GIVEN}"],
    "approvals_standing_only_spent": [
        'UPDATE approvals_standingapproval SET "limit" = "limit" + 1',
        "UPDATE approvals_standingapproval SET expires_at = expires_at + interval '1 day'",
        "DELETE FROM approvals_standingapproval",
    ],
}  # fmt: skip

#: Constraints that another rule is always met before -> which.
BEHIND_ANOTHER = {"approvals_snapshot_manifest": "the key of the table: an id is there once"}

#: What the application may not even try.
NOT_ALLOWED = [
    "UPDATE approvals_artifact SET author = ''",
    "UPDATE approvals_destinationrevision SET url = ''",
    "UPDATE approvals_snapshot SET manifest = ''",
    "UPDATE approvals_snapshot SET destination = ''",
    "UPDATE approvals_decision SET person_id = 1",
    "UPDATE approvals_decision SET expires_at = NULL",
    'UPDATE approvals_standingapproval SET "limit" = 1',
    "UPDATE approvals_shown SET manifest_sha256 = ''",
    "UPDATE approvals_content SET sha256 = ''",
    *(f"DELETE FROM approvals_{name}" for name in
      ("content", "artifact", "destinationrevision", "snapshot", "decision", "standingapproval", "shown")),
    "TRUNCATE approvals_decision CASCADE",
]  # fmt: skip
