"""Reading `[slots.…]` and `[actions.…]`: what workers hand in, and what is frozen, approved and sent.

Pure. What an action says of other actions is checked in `soundness.py`, when all of them are read.
"""

from collections.abc import Mapping

from runs.definitions import Action, Dispatch, Slot
from runs.loading import forms
from runs.loading.clauses import read_allowed_in, read_only_when, read_reads, read_rules
from runs.loading.faults import FaultCode
from runs.loading.fields import Fields
from runs.loading.tables import Table
from runs.states import Disposition, RunStatus

#: Where a candidate is frozen unless the action says otherwise.
FREEZABLE = frozenset({RunStatus.WORKING, RunStatus.READY_FOR_REVIEW})
COMPENSABLE = frozenset({RunStatus.SENT})

#: The payload of an action whose requester supplies it.
SUPPLIED = "request"


def read_slots(table: Table) -> dict[str, Slot]:
    """Every declared slot, by name."""
    return {name: _read_slot(name, below) for name, below in table.tables(forms.NAME)}


def _read_slot(name: str, table: Table) -> Slot:
    media_types = table.texts("media_types", forms.MEDIA_TYPE, at_least=1, required=True)
    slot = Slot(name, table.text("title", forms.TITLE), table.text("scope", forms.SCOPE), media_types)
    table.close()
    return slot


def read_actions(table: Table, fields: Fields, slots: Mapping[str, Slot]) -> dict[str, Action]:
    """Every declared action, by name."""
    return {name: _read_action(name, below, fields, slots) for name, below in table.tables(forms.NAME)}


def _read_action(name: str, table: Table, fields: Fields, slots: Mapping[str, Slot]) -> Action:
    compensates = table.text("compensates", forms.NAME, default="") or None
    action = Action(
        name=name,
        title=table.text("title", forms.TITLE),
        sentence=table.text("sentence"),
        scope=table.text("scope", forms.SCOPE),
        destination=table.text("destination", forms.NAME),
        payload=_read_payload(table),
        contract=table.word("contract", ("exact", "until_changed")),
        authorize=table.word("authorize", ("automatic", "coordinator")),
        dispatch=_read_dispatch(table.table("dispatch")),
        slots=_read_used_slots(table, slots),
        reads=read_reads(table, fields),
        only_when=read_only_when(table, fields),
        standing=_read_standing(table.table("standing"), fields) if table.has("standing") else None,
        allowed_in=read_allowed_in(table, COMPENSABLE if compensates else FREEZABLE),
        compensates=compensates,
        on_conflict=read_rules(table, fields),
        otherwise=table.choice("otherwise", Disposition, Disposition.ESCALATE),
    )
    table.close()
    return action


def _read_payload(table: Table) -> Mapping[str, str] | None:
    """The template by member; None where the request supplies the payload."""
    if not table.has("payload"):
        table.missing("payload")
        return {}
    given = table.value("payload")
    if given == SUPPLIED:
        return None
    if not isinstance(given, dict):
        table.refuse("payload", FaultCode.WRONG_TYPE, f"This must be a table, or the text “{SUPPLIED}”.")
        return {}
    below = Table(given, table.at("payload"), table.findings)
    return {member: _read_member(below, member) for member in below.names()}


def _read_member(table: Table, member: str) -> str:
    if not forms.MEMBER.fits(member):
        table.refuse(member, FaultCode.BAD_FORM, f"Write {forms.MEMBER.words}.")
    return table.text(member)


def _read_dispatch(table: Table) -> Dispatch:
    dispatch = Dispatch(
        timeout_seconds=table.duration("timeout", "20s"),
        lease_seconds=table.duration("lease", "60s"),
        attempts=table.integer("attempts", at_least=1, default=5),
    )
    if dispatch.timeout_seconds >= dispatch.lease_seconds:
        table.refuse("lease", FaultCode.LEASE_TOO_SHORT, "A lease must outlast the time limit of one attempt.")
    table.close()
    return dispatch


def _read_used_slots(table: Table, slots: Mapping[str, Slot]) -> tuple[str, ...]:
    used = table.texts("slots")
    for index, name in enumerate(used):
        if name not in slots:
            place = f"{table.at('slots')}[{index}]"
            table.findings.refuse(place, FaultCode.UNKNOWN_SLOT, f"No slot is called “{name}”.")
    return used


def _read_standing(table: Table, fields: Fields) -> Mapping[str, str]:
    named = {measure: table.text(measure) for measure in ("amount", "currency")}
    for measure, name in named.items():
        if name:
            fields.referred(name, table.at(measure))
    table.close()
    return named
