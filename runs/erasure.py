"""Erasing what runs hold of content: bodies of ledger entries, answers to commands, copies kept of conflicts.

Every hash, decision and record stays. What erases is a list of parts, of this app and of those above it; each says
where there still is something of its kind, and takes it away. Joined and bounded by `outbox/erasure.py`.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from runs.errors import EscalationOpen, InvalidTransition
from runs.states import RunStatus
from runs.transactions import execute, fetch_row
from runs.values import RunReading

JSON = Any

#: The entry that tells an erasure. It holds no content and is never erased itself.
KIND = "content.erased"

#: Where a run has come to rest. The guard `runs_is_at_rest` has the same list.
AT_REST = frozenset({RunStatus.SENT, RunStatus.FAILED, RunStatus.REVOKED, RunStatus.CANCELLED, RunStatus.EXPIRED})

#: The members of an answer that hold values of fields, and what is left of each.
VALUES: Mapping[str, JSON] = {"changed": {}, "changed_fields": [], "changed_since_base": []}


@dataclass(frozen=True, slots=True)
class Part:
    """Something that is erased: of which kind of content, what it is called, where there is some, and how it goes.

    `found` is a query for the column `run_id`, one row for each thing that is there.
    """

    kind: str
    things: str
    found: str
    erase: Callable[[int], None]

    def count(self, run_id: int) -> int:
        """How much of it a run still has."""
        (number,) = fetch_row(f"SELECT count(*) FROM ({self.found}) AS found WHERE run_id = %s", [run_id])
        return int(number)


def require_at_rest(run: RunReading) -> None:
    """Raise unless nothing of the run is needed any more: `InvalidTransition`, `EscalationOpen`."""
    if run.state.status not in AT_REST:
        raise InvalidTransition(f"{run.key} is {run.state.status}: only of a run that has come to rest is erased.")
    if run.state.active_snapshot is not None:
        raise InvalidTransition(f"{run.state.active_snapshot} is under review: nothing of {run.key} is erased.")
    if run.held:
        raise EscalationOpen(f"{run.held[0].escalation} waits for an operator: nothing of {run.key} is erased.")


# ---- the ledger --------------------------------------------------------------------------------------------

_BODIES = f"SELECT run_id FROM runs_ledgerentry WHERE body IS NOT NULL AND kind <> '{KIND}'"
_ERASE_BODIES = f"UPDATE runs_ledgerentry SET body = NULL WHERE run_id = %s AND body IS NOT NULL AND kind <> '{KIND}'"


def _erase_bodies(run_id: int) -> None:
    execute(_ERASE_BODIES, [run_id])


# ---- answers -----------------------------------------------------------------------------------------------

_REFUSED = "c.state IN ('rejected', 'retry', 'escalated', 'superseded')"
_APPLIED = "(c.state IN ('committed', 'merged', 'unchanged') OR c.name = 'resolve')"
_HAS_VALUES = """
c.answer NOT LIKE '%%"erased":true}' AND c.answer::jsonb
    @? '$.** ? (exists(@.changed.*) || exists(@.changed_fields[*]) || exists(@.changed_since_base[*]))'
"""
_ANSWERS = "SELECT c.principal, c.command_id, c.answer FROM runs_command c WHERE c.run_id = %s AND {} AND {}"
_ERASE_ANSWER = "UPDATE runs_command SET answer = %s WHERE (run_id, principal, command_id) = (%s, %s, %s)"


def erased_answer(answer: Mapping[str, JSON]) -> dict[str, JSON]:
    """An answer without the values it held. It still says what became of the command, and that it was erased."""
    return {**_without_values(answer), "erased": True}


def _without_values(answer: Mapping[str, JSON]) -> dict[str, JSON]:
    kept = {name: VALUES.get(name, value) for name, value in answer.items()}
    return {name: _without_values(value) if name == "command" else value for name, value in kept.items()}


def _found_answers(which: str) -> str:
    return f"SELECT c.run_id FROM runs_command c WHERE {which} AND {_HAS_VALUES}"


def _erase_answers(run_id: int, which: str) -> None:
    for principal, command_id, answer in execute(_ANSWERS.format(which, _HAS_VALUES), [run_id]).fetchall():
        execute(_ERASE_ANSWER, [_text(json.loads(answer)), run_id, principal, command_id])


def _text(answer: Mapping[str, JSON]) -> str:
    return json.dumps(erased_answer(answer), ensure_ascii=False, separators=(",", ":"))


# ---- conflicts ---------------------------------------------------------------------------------------------

_CONFLICTS = "SELECT run_id FROM runs_conflict WHERE num_nonnulls(base, proposal) > 0"
_PROBLEMS = "SELECT id, problem FROM runs_conflict WHERE run_id = %s AND num_nonnulls(base, proposal) > 0"
_ERASE_CONFLICT = "UPDATE runs_conflict SET base = NULL, proposal = NULL, problem = %s WHERE id = %s"


def _erase_conflicts(run_id: int) -> None:
    for number, problem in execute(_PROBLEMS, [run_id]).fetchall():
        execute(_ERASE_CONFLICT, [_text(json.loads(problem)) if problem else "", number])


PARTS: tuple[Part, ...] = (
    Part("ledger", "ledger bodies", _BODIES, _erase_bodies),
    Part("ledger", "answers", _found_answers(_APPLIED), lambda run_id: _erase_answers(run_id, _APPLIED)),
    Part("conflict", "conflicts", _CONFLICTS, _erase_conflicts),
    Part("conflict", "refusals", _found_answers(_REFUSED), lambda run_id: _erase_answers(run_id, _REFUSED)),
)
