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
from runs.fields import FieldKind, Op, Verb, element_of, fulfils, identity, opposes, same, undo
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
            elif "revision" in entry.changes:
                fields.pop(name, None)  # a field that came with this revision
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
        for name, entry in sorted(last.items(), key=lambda item: (item[1].version, item[0]))
    )


def _is_equal(left: JSON, right: JSON) -> bool:
    """Whether two values of a field are one; the order of a set's elements carries no meaning."""
    if isinstance(left, list) and isinstance(right, list):
        return sorted(map(identity, left)) == sorted(map(identity, right))
    return same(left, right)


@dataclass(frozen=True, slots=True)
class Grounds:
    """What of the changes since base decides: these names, as these entries changed them."""

    names: frozenset[str]
    entries: tuple[Between, ...]

    def are_own(self, actor: str) -> bool:
        """Whether `actor` alone is behind all of it."""
        return {entry.actor for entry in self.entries} == {actor}


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

    def grounds(self, names: Iterable[str]) -> Grounds:
        """Every change of one of `names` since base."""
        wanted = frozenset(names)
        return Grounds(wanted, tuple(entry for entry in self.between if wanted & entry.changes.keys()))


def classify(case: Case) -> Judgement:
    """The disposition of a stale command. The order of the steps is part of the contract.

    Raises `ItemIdReused` when a log already holds the item's id with other content.
    """
    steps: tuple[Callable[[Case], Judgement | None], ...] = (_already_so, _by_rule, _no_longer_legal, _by_default)
    judged = next(judgement for step in steps if (judgement := step(case)) is not None)
    return replace(judged, changed=case.changed)


def _already_so(case: Case) -> Judgement | None:
    if not _already_holds(case):
        return None
    if any(op.verb is Verb.APPEND for op in case.ops):
        return Judgement(Disposition.REJECT, "already-so", "The log already holds this item.", unchanged=True)
    doer = next((entry for entry in reversed(case.between) if _fulfils(case, entry)), None)
    since = f"{doer.actor} did it in version {doer.version}" if doer else "it held before already"
    return Judgement(Disposition.REJECT, "already-so", f"What this asks for already holds: {since}.")


def _already_holds(case: Case) -> bool:
    if case.command.name == "move-to-revision":
        return bool(case.params["revision"] == case.workflow.revision)
    has_effect = bool(case.ops) or case.command.status is not None
    return has_effect and apply(case.workflow, case.current, case.command, case.params).is_empty


def _fulfils(case: Case, entry: Between) -> bool:
    """Whether an entry did something of what the command asks for."""
    if case.command.status is not None:
        return "status" in entry.changes
    if not case.ops:
        return "revision" in entry.changes
    return any(op.field in entry.changes and fulfils(op, entry.changes[op.field]) for op in case.ops)


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
    match rule.then:
        case Disposition.MERGE:
            return _no_longer_legal(case) or _merge(case, name, rule.because)
        case Disposition.REJECT:
            return Judgement(rule.then, name, rule.because)
        case _:
            return _conflict(case, rule.then, name, rule.because, case.grounds(met))


def _no_longer_legal(case: Case) -> Judgement | None:
    because = legality(case.workflow, case.current, case.command)
    return Judgement(Disposition.REJECT, "not-legal", because) if because else None


def _by_default(case: Case) -> Judgement:
    if written := case.exclusive_writes & case.touched:
        words = f"Somebody else changed {_list(written)} since."
        return _conflict(case, Disposition.ESCALATE, "default", words, case.grounds(written))
    if read := case.command.reads & case.touched:
        words = f"This was decided on {_list(read)}, which changed since: read it first."
        return _conflict(case, Disposition.RETRY, "default", words, case.grounds(read))
    return _otherwise(case)


def _otherwise(case: Case) -> Judgement:
    names = _list(case.touched) or "the record"
    match case.command.otherwise:
        case Disposition.MERGE:
            return _merge(case, "default", f"Nothing that this reads or decides was touched: only {names} changed.")
        case Disposition.RETRY:
            words = f"{names} changed since: read it again and decide anew."
        case Disposition.ESCALATE:
            words = f"{names} changed since, and no rule says what to do."
        case Disposition.REJECT:
            return Judgement(Disposition.REJECT, "default", f"{names} changed since, which ends this command.")
    return _conflict(case, case.command.otherwise, "default", words, case.grounds(case.touched))


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _merge(case: Case, rule: str, because: str) -> Judgement:
    """Merge where it is safe by element, else escalate."""
    unsafe = case.grounds((case.exclusive_writes | case.command.reads) & case.touched)
    opposed = [(op.field, entry) for op in case.ops for entry in case.between if _was_opposed(op, entry)]
    names = unsafe.names | {name for name, _ in opposed}
    if not names:
        return Judgement(Disposition.MERGE, rule, because)
    words = f"A merge would override or undo a change of {_list(names)}."
    grounds = Grounds(names, (*unsafe.entries, *(entry for _, entry in opposed)))
    return _conflict(case, Disposition.ESCALATE, "unsafe-merge", words, grounds)


def _was_opposed(op: Op, entry: Between) -> bool:
    return op.field in entry.changes and opposes(op, entry.changes[op.field])


def _conflict(case: Case, disposition: Disposition, rule: str, because: str, grounds: Grounds) -> Judgement:
    """Retry or escalate; but where the principal's own earlier write alone is behind it, say so and retry."""
    if not grounds.are_own(case.actor):
        return Judgement(disposition, rule, because)
    own = max(grounds.entries, key=lambda entry: entry.version)
    names = _list(grounds.names & own.changes.keys())
    words = f"Your own command {own.command_id} changed {names} in version {own.version}: read it and decide anew."
    return Judgement(Disposition.RETRY, rule, words, against_self=True)


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
