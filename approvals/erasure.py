"""Erasing what was reviewed: the payloads of snapshots and the content of artifacts. Hashes and manifests stay.

A file of erased content is removed after the commit, by `blobs.remove_erased_files`.
"""

from runs import erasure
from runs.erasure import Part
from runs.transactions import execute

# ---- payloads ----------------------------------------------------------------------------------------------

_PAYLOADS = "SELECT run_id FROM approvals_snapshot WHERE payload IS NOT NULL"
_ERASE_PAYLOADS = "UPDATE approvals_snapshot SET payload = NULL WHERE run_id = %s AND payload IS NOT NULL"


def _erase_payloads(run_id: int) -> None:
    execute(_ERASE_PAYLOADS, [run_id])


# ---- artifacts ---------------------------------------------------------------------------------------------

#: That the run of artifact `a` has not let go of its artifacts since the last one came: content goes with the last run.
_IS_NEEDED = f"""
EXISTS (
    SELECT FROM runs_ledgerentry s
    WHERE s.run_id = a.run_id AND s.kind = 'artifact.submitted' AND NOT EXISTS (
        SELECT FROM runs_ledgerentry e
        WHERE e.run_id = s.run_id AND e.seq > s.seq AND e.kind = '{erasure.KIND}'
          AND convert_from(e.body, 'UTF8')::jsonb -> 'kinds' ? 'artifact'
    )
)
"""
_ARTIFACTS = f"""
SELECT a.run_id FROM approvals_artifact a JOIN approvals_content c ON c.sha256 = a.content_id
WHERE c.erased_at IS NULL AND {_IS_NEEDED}
"""
# Whoever names content holds a key-share lock on it, so nobody comes to name it after this.
_LOCK_CONTENTS = """
SELECT c.sha256 FROM approvals_content c
WHERE c.erased_at IS NULL AND c.sha256 IN (SELECT content_id FROM approvals_artifact WHERE run_id = %s)
ORDER BY c.sha256 FOR UPDATE
"""
_ERASE_CONTENTS = f"""
UPDATE approvals_content c SET body = NULL, erased_at = clock_timestamp()
WHERE c.sha256 = ANY(%s) AND NOT EXISTS (
    SELECT FROM approvals_artifact a WHERE a.content_id = c.sha256 AND {_IS_NEEDED}
)
"""


def _erase_contents(run_id: int) -> None:
    """Erase what no run needs any more. The entry that tells it is written already: this run has let go."""
    locked = [sha256 for (sha256,) in execute(_LOCK_CONTENTS, [run_id]).fetchall()]
    execute(_ERASE_CONTENTS, [locked])


PARTS: tuple[Part, ...] = (
    Part("payload", "payloads", _PAYLOADS, _erase_payloads),
    Part("artifact", "artifacts", _ARTIFACTS, _erase_contents),
)
