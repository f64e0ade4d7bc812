"""The refusal of a request about a run that names another version than the current one, with what moved since.

For requests that no rule of a workflow judges: decisions, authorizations and resolutions. Reads; writes nothing,
and counts against no budget.
"""

from random import randint

from runs import store
from runs.conflicts import MAX_VERSIONS_BACK, allowance, changed_since, state_at_base
from runs.definitions import Policy
from runs.errors import VersionConflict
from runs.refusals import RETRY_JITTER_MS
from runs.states import Disposition
from runs.store import Found
from runs.values import JSON, RunReading, version_tag


def version_conflict(
    words: str, found: Found, run: RunReading, policy: Policy, *, command_id: str, name: str, seen: int
) -> VersionConflict:
    """The refusal of the request `name`, computed from version `seen`, with the members of every version conflict."""
    left = allowance(policy.budget, found.episode, found.now)
    return VersionConflict(
        words,
        run=run.key,
        command_id=command_id,
        conflict=None,
        base_version=seen,
        current_version=run.version,
        current_etag=version_tag(found.ledger_epoch, run.version),
        changed_fields=_changed_fields(run, seen),
        disposition=Disposition.RETRY.value,
        rule={"command": name, "name": "default", "because": words},
        attempts=left.attempts,
        attempts_left=left.attempts_left,
        seconds_left=left.seconds_left,
        retry_after_ms=randint(*RETRY_JITTER_MS),
        escalation=None,
    )


def _changed_fields(run: RunReading, seen: int) -> list[dict[str, JSON]]:
    """What was touched after version `seen`; nothing where that is no version of the run's past."""
    if not 1 <= seen <= run.version <= seen + MAX_VERSIONS_BACK:
        return []
    since = store.entries_between(run, seen)
    if since is None:
        return []
    return [item.as_json() for item in changed_since(state_at_base(run.state, since), run.state, since)]
