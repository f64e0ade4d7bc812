"""The policy of a workflow as a form: drawn for one version of it; what was not touched is not asked for."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django import forms
from django.forms.boundfield import BoundField
from django.http import QueryDict

from console.forms import Reason, RequestId, SeenVersion, new_id
from console.param_fields import Lines, Text
from runs.definitions import Policy, Workflow
from runs.errors import Fault
from runs.loading.fields import is_amount
from runs.loading.policy import RETAINED
from runs.policy_terms import MEMBERS, write_terms

JSON = Any

_DURATION = "A number with its unit: s, m, h or d, such as 24h."
_LINES = {"rows": 2, "class": "mono"}

#: Inputs that together make one member of a policy.
_PARTS = {"budget": ("attempts", "elapsed")}


class Groups(Lines):
    """Names of groups, one on each line."""

    def __init__(self, label: str, help_text: str) -> None:
        super().__init__(label=label, help_text=help_text, widget=forms.Textarea(attrs=_LINES))

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value


class Span(Text):
    """A duration; empty where there is none."""

    def __init__(self, label: str, help_text: str = "", *, required: bool = True) -> None:
        widget = forms.TextInput(attrs={"class": "mono", "autocomplete": "off"})
        super().__init__(label=label, help_text=help_text, required=required, widget=widget)


class PolicyForm(forms.Form):
    """Every term of a policy. The parts of a member are inputs of their own, such as `limits.refund_amount`."""

    id = RequestId()
    seen = SeenVersion()
    suspended = forms.BooleanField(required=False, label="Suspended: agents, freezes, approvals and sending stop")
    quorum = forms.IntegerField(label="Approvals needed", help_text="By different people.")
    separation = forms.ChoiceField(
        label="Separation of duties",
        choices=[("strict", "strict: nobody approves what they shaped"), ("relaxed", "relaxed")],
    )
    reviewers = Groups("Groups of reviewers", "Whose reviewers approve, deny and revoke; one on each line.")
    operators = Groups("Groups of operators", "Whose operators hold every scope and settle conflicts.")
    reauthenticate_within = Span(
        "Reviewers confirm who they are", "At most this long before a decision, such as 10m; empty: never asked.",
        required=False,
    )  # fmt: skip
    decision_expires_after = Span("An approval counts for", _DURATION)
    run_expires_after = Span("A run expires after", "From its creation or last reopening, if nothing was authorized.")
    reason = Reason(help_text="Kept in the history with your name.")

    def __init__(
        self, workflow: Workflow, data: QueryDict | None = None, *, initial: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(data, auto_id="policy-%s", initial=dict(initial or {}))
        self.workflow = workflow
        self.fields.update(dict(_budget()) | dict(_limits(workflow)) | dict(_retention()))
        self.order_fields([name for name in self.fields if name != "reason"])

    @classmethod
    def drawn(
        cls, workflow: Workflow, policy: Policy, seen: str, typed: Mapping[str, Any] | None = None
    ) -> "PolicyForm":
        """A form to be filled in on this version of the policy, with what was `typed` already; its id is new."""
        initial = {**_inputs(policy), **(typed or {}), "id": new_id(), "seen": seen}
        return cls(workflow, initial=initial)

    def groups(self) -> list[tuple[str, list[BoundField]]]:
        """The inputs under their headings."""
        return [(title, [self[name] for name in self.fields if _belongs(name, names)]) for title, names in _HEADINGS]

    def terms(self) -> dict[str, JSON]:
        """Every member as it was filled in."""
        given = self.cleaned_data
        return {name: given[name] or None for name in ("reauthenticate_within",)} | {
            name: _nested(given, name) if name in _NESTED else given[name]
            for name in MEMBERS
            if name != "reauthenticate_within"
        }

    def changes(self, before: Policy) -> dict[str, JSON]:
        """The members that differ from the policy that the form was drawn for."""
        shown, filled = write_terms(before), self.terms()
        return {name: value for name, value in filled.items() if value != shown[name]}

    def add_faults(self, faults: Sequence[Fault]) -> None:
        """Show each fault at the input it belongs to, or above the form where there is none."""
        for fault in faults:
            parts = fault.pointer.strip("/").split("/")
            name = next((name for name in (".".join(parts[:2]), parts[0]) if name in self.fields), None)
            self.add_error(name, fault.detail)

    def typed(self) -> dict[str, Any]:
        """What was typed, as it came."""
        names = [name for name in self.fields if name != "suspended"]
        return {name: self.data[name] for name in names if name in self.data} | {"suspended": "suspended" in self.data}


_NESTED = ("limits", "budget", "retention")

_HEADINGS = (
    ("Who decides", ("quorum", "separation", "reviewers", "operators", "reauthenticate_within")),
    ("What agents may set by themselves", ("limits",)),
    ("How long things count", ("decision_expires_after", "run_expires_after")),
    ("How many conflicts before a person looks", ("budget",)),
    ("How long content is kept", ("retention",)),
    ("Stop everything", ("suspended",)),
)


def _belongs(name: str, members: tuple[str, ...]) -> bool:
    return name.partition(".")[0] in members


def _budget() -> Iterator[tuple[str, forms.Field]]:
    yield "budget.attempts", forms.IntegerField(label="Conflicts of one intent")
    yield "budget.elapsed", Span("Counted for", _DURATION)


def _limits(workflow: Workflow) -> Iterator[tuple[str, forms.Field]]:
    """One input for each field that holds an amount."""
    for name, field in workflow.fields.items():
        if is_amount(field):
            help_text = "Above it a person has to set it; empty: no limit."
            yield f"limits.{name}", Span(f"Limit for {name}", help_text, required=False)


def _retention() -> Iterator[tuple[str, forms.Field]]:
    for kind in RETAINED:
        yield f"retention.{kind}", Span(kind.capitalize(), "Empty: until somebody erases it.", required=False)


def _inputs(policy: Policy) -> dict[str, Any]:
    """The terms of a policy as the inputs show them."""
    terms = write_terms(policy)
    inputs = {name: value for name, value in terms.items() if name not in _NESTED}
    for name in _NESTED:
        inputs |= {f"{name}.{part}": value for part, value in terms[name].items()}
    return inputs


def _nested(given: Mapping[str, Any], member: str) -> dict[str, JSON]:
    """A member from its inputs; what was left empty is not there."""
    inputs = {name.partition(".")[2]: value for name, value in given.items() if name.startswith(f"{member}.")}
    return {name: value for name, value in inputs.items() if value not in (None, "")}
