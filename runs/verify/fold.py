"""The state of a run as its ledger tells it, folded forward entry by entry.

Pure. What an erased body changed is not known any more, until a later entry says it whole.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from runs.fields import Change, identity
from runs.states import RunStatus

JSON = Any


def redo(value: JSON, change: Change) -> JSON:
    """The value that `change` made of `value`: the counterpart of `fields.undo`."""
    if "to" in change:
        return change["to"]
    if "appended" in change:
        return [*value, *change["appended"]]
    gone = {identity(element) for element in change.get("removed", ())}
    return [element for element in value if identity(element) not in gone] + list(change.get("added", ()))


@dataclass(slots=True)
class Fold:
    """Everything that is known of a run after the entries so far: fields, status, pointer and revision, by name."""

    values: dict[str, JSON] = field(default_factory=dict)
    is_complete: bool = False  # whether no value is missing because of an erasure

    def begin(self, fields: Mapping[str, JSON], revision: int) -> None:
        """Take over what the first entry says."""
        self.values = {**fields, "status": RunStatus.RECEIVED.value, "active_snapshot": None, "revision": revision}
        self.is_complete = True

    def apply(self, changes: Mapping[str, Change]) -> None:
        """Take over the changes of an entry."""
        for name, change in changes.items():
            if "to" in change or name in self.values:
                self.values[name] = redo(self.values.get(name), change)

    def contradictions(self, changes: Mapping[str, Change]) -> list[str]:
        """The names whose change starts from another value than the one before it."""
        return sorted(
            name
            for name, change in changes.items()
            if "from" in change and name in self.values and identity(change["from"]) != identity(self.values[name])
        )

    def forget(self, names: Collection[str]) -> None:
        """What an erased entry touched is not known any more."""
        self.is_complete = self.is_complete and not names
        for name in names:
            self.values.pop(name, None)

    def keep_only(self, names: Collection[str]) -> None:
        """Drop what another revision of the workflow does not have."""
        for name in self.values.keys() - names:
            del self.values[name]

    def differences(self, actual: Mapping[str, JSON]) -> list[str]:
        """The names whose value in `actual` is not what the ledger tells."""
        unequal = {
            name
            for name, value in self.values.items()
            if name not in actual or identity(value) != identity(actual[name])
        }
        untold = actual.keys() - self.values.keys() if self.is_complete else set()
        return sorted(unequal | untold)
