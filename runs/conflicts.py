"""The classifier: what is to be done with a command whose version was stale, by which rule, and why.

Pure: a function of base, current state, the ledger entries between them, the command, the workflow
revision, and nothing else. Budgets are arithmetic at the end of this module.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from runs.definitions import Command, Rule, Workflow
from runs.fields import FieldKind, Op, Verb, element_of, identity, opposes, same, undo
from runs.states import Disposition, RunStatus
from runs.transitions import apply, legality
from runs.values import Between, Budget, ChangedField, Episode, Held, Judgement, RunState

JSON = Any

#: A base further back than this is not reconstructed: read again.
MAX_VERSIONS_BACK = 500


def state_at_base(current: RunState, between: Sequence[Between]) -> RunState:
    """The state before the entries in `between` (oldest first) led to `current`."""
    fields, status, snapshot = dict(current.fields), current.status.value, current.active_snapshot
    for entry in reversed(between):
        for name, change in entry.changes.items():
            if name == "status":
                status = change["from"]
            elif name == "active_snapshot":
                snapshot = change["from"]
            elif name in fields:
                fields[name] = undo(fields[name], change)
    return RunState(RunStatus(status), fields, snapshot)


def changed_since(base: RunState, current: RunState, between: Sequence[Between]) -> tuple[ChangedField, ...]:
    """Everything touched by an entry after base, with its last toucher; equal again is marked `restored`."""
    last = {name: entry for entry in between for name in entry.changes if name != "revision"}
    return tuple(
        ChangedField(
            field=name,
            base=base.value(name),
            current=current.value(name),
            restored=_is_equal(base.value(name), current.value(name)),
            version=entry.version,
            changed_by=entry.actor,
            command_id=entry.command_id,
        )
        for name, entry in last.items()
    )


def _is_equal(left: JSON, right: JSON) -> bool:
    """Whether two values of a field are one; the order of a set's elements carries no meaning."""
    if isinstance(left, list) and isinstance(right, list):
        return sorted(map(identity, left)) == sorted(map(identity, right))
    return same(left, right)


@dataclass(frozen=True)
class Case:
    """Everything that judging one stale command needs."""

    workflow: Workflow
    command: Command
    params: Mapping[str, JSON]
    actor: str
    base: RunState
    current: RunState
    between: tuple[Between, ...]

    @cached_property
    def changed(self) -> tuple[ChangedField, ...]:
        return changed_since(self.base, self.current, self.between)

    @cached_property
    def touched(self) -> frozenset[str]:
        return frozenset(item.field for item in self.changed)

    @cached_property
    def ops(self) -> tuple[Op, ...]:
        return self.command.ops(self.params)

    @cached_property
    def exclusive_writes(self) -> frozenset[str]:
        return frozenset(name for name in self.command.writes if self.workflow.fields[name].kind is FieldKind.EXCLUSIVE)

    def last_toucher(self, names: Iterable[str]) -> ChangedField | None:
        """Who touched one of `names` last."""
        wanted = frozenset(names)
        return max((item for item in self.changed if item.field in wanted), key=lambda item: item.version, default=None)

    def only_own(self, names: Iterable[str]) -> bool:
        """Whether all that touched `names` since base came from the command's own principal."""
        wanted = frozenset(names)
        touchers = {entry.actor for entry in self.between if wanted & entry.changes.keys()}
        return touchers == {self.actor}


def classify(case: Case) -> Judgement:
    """The disposition of a stale command. The order of the steps is part of the contract.

    Raises `ItemIdReused` when a log already holds the item's id with other content.
    """
    steps: tuple[Callable[[Case], Judgement | None], ...] = (_already_so, _by_rule, _no_longer_legal, _by_default)
    judged = next(judgement for step in steps if (judgement := step(case)) is not None)
    return replace(judged, changed=case.changed)


def _already_so(case: Case) -> Judgement | None:
    step = apply(case.workflow, case.current, case.command, case.params)
    if not step.is_empty or not _has_effect(case):
        return None
    if any(op.verb is Verb.APPEND for op in case.ops):
        return Judgement(Disposition.REJECT, "already-so", "The log already holds this item.", unchanged=True)
    names = case.command.writes | ({"status"} if case.command.status else frozenset())
    toucher = case.last_toucher(names)
    since = f"{toucher.changed_by} did it in version {toucher.version}" if toucher else "it held before already"
    return Judgement(Disposition.REJECT, "already-so", f"What this asks for already holds: {since}.")


def _has_effect(case: Case) -> bool:
    return bool(case.ops) or case.command.status is not None


def _by_rule(case: Case) -> Judgement | None:
    for index, rule in enumerate(case.command.on_conflict):
        if met := _met(rule, case):
            return _apply_rule(case, rule, f"on_conflict[{index}]", met)
    return None


def _met(rule: Rule, case: Case) -> list[str]:
    """The touched fields by which `rule` applies."""
    return [
        name
        for name in rule.when_changed
        if name in case.touched and (rule.to is None or any(same(case.current.value(name), value) for value in rule.to))
    ]


def _apply_rule(case: Case, rule: Rule, name: str, met: Sequence[str]) -> Judgement:
    if rule.then is Disposition.ESCALATE:
        return _escalate(case, name, rule.because, met)
    if rule.then is Disposition.MERGE:
        return _no_longer_legal(case) or _merge(case, name, rule.because)
    return Judgement(rule.then, name, rule.because)


def _no_longer_legal(case: Case) -> Judgement | None:
    because = legality(case.workflow, case.current, case.command)
    return Judgement(Disposition.REJECT, "not-legal", because) if because else None


def _by_default(case: Case) -> Judgement:
    if written := case.exclusive_writes & case.touched:
        names = ", ".join(sorted(written))
        return _escalate(case, "default", f"Somebody else changed {names} since.", written)
    if read := case.command.reads & case.touched:
        names = ", ".join(sorted(read))
        return Judgement(
            Disposition.RETRY, "default", f"This was decided on {names}, which changed since: read it first."
        )
    return _otherwise(case)


def _otherwise(case: Case) -> Judgement:
    names = ", ".join(sorted(case.touched)) or "the record"
    match case.command.otherwise:
        case Disposition.MERGE:
            return _merge(case, "default", f"Nothing that this reads or decides was touched: only {names} changed.")
        case Disposition.RETRY:
            return Judgement(Disposition.RETRY, "default", f"{names} changed since: read it again and decide anew.")
        case Disposition.ESCALATE:
            return _escalate(case, "default", f"{names} changed since, and no rule says what to do.", case.touched)
        case Disposition.REJECT:
            return Judgement(Disposition.REJECT, "default", f"{names} changed since, which ends this command.")


def _merge(case: Case, rule: str, because: str) -> Judgement:
    """Merge where it is safe by element, else escalate."""
    unsafe = (case.exclusive_writes | case.command.reads) & case.touched
    opposed = {op.field for op in case.ops if _was_opposed(case, op)}
    if broken := unsafe | opposed:
        names = ", ".join(sorted(broken))
        return _escalate(case, "unsafe-merge", f"A merge would override or undo a change of {names}.", broken)
    return Judgement(Disposition.MERGE, rule, because)


def _was_opposed(case: Case, op: Op) -> bool:
    return any(op.field in entry.changes and opposes(op, entry.changes[op.field]) for entry in case.between)


def _escalate(case: Case, rule: str, because: str, names: Iterable[str]) -> Judgement:
    """Escalate, unless the conflict is with the principal's own earlier write: nobody escalates against oneself."""
    names = frozenset(names)
    if case.only_own(names):
        own = case.last_toucher(names)
        assert own is not None
        words = (
            f"Your own command {own.command_id} changed {own.field} in version {own.version}: read it and decide anew."
        )
        return Judgement(Disposition.RETRY, rule, words)
    return Judgement(Disposition.ESCALATE, rule, because)


def retry_without_base(because: str) -> Judgement:
    """The judgement of a command whose base cannot be compared: ahead, too far back, or of another epoch."""
    return Judgement(Disposition.RETRY, "default", because)


def elements_written(command: Command, params: Mapping[str, JSON]) -> Mapping[str, tuple[str, ...] | None]:
    """What an escalated command holds: fields whole (None), elements of sets and logs, or a freeze its own name."""
    if command.entry_kind == "snapshot.frozen":
        return {command.name: None}
    held: dict[str, tuple[str, ...] | None] = {}
    for op in command.ops(params):
        element = element_of(op)
        held[op.field] = None if element is None else (*(held.get(op.field) or ()), element)
    return held


def holding(held: Iterable[Held], ops: Sequence[Op]) -> Held | None:
    """The first open escalation that holds something `ops` would write."""
    return next((item for item in held if any(_holds(item, op) for op in ops)), None)


def _holds(item: Held, op: Op) -> bool:
    if op.field not in item.elements:
        return False
    elements = item.elements[op.field]
    return elements is None or element_of(op) in elements


# ---- budgets ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left of the budget of an intent."""

    attempts: int
    attempts_left: int
    seconds_left: int

    @property
    def is_exhausted(self) -> bool:
        return self.attempts_left == 0 or self.seconds_left == 0


def allowance(budget: Budget, episode: Episode, now: datetime) -> Allowance:
    """What `episode` leaves of `budget` at `now`: nothing after the last attempt, or too late after the first."""
    since_first = int((now - episode.first_at).total_seconds()) if episode.first_at and episode.counted else 0
    return Allowance(
        attempts=episode.counted,
        attempts_left=max(0, budget.attempts - episode.counted),
        seconds_left=max(0, budget.elapsed_seconds - since_first),
    )
