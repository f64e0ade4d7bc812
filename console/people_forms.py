"""Forms about people, agents and destinations, as admins fill them in. What is acceptable is judged in the actions."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from django import forms

from approvals.adapters import ABILITIES
from approvals.destinations import Terms
from console.forms import Reason, RequestId, new_id
from console.param_fields import Lines, Text
from runs.administration import AgentChange, AgentTerms
from runs.errors import Fault
from runs.loading.forms import DURATION, seconds_of
from runs.models import Agent, Person
from runs.policy_terms import write_duration
from runs.states import Role

JSON = Any

ROLE_WORDS = {
    Role.REVIEWER: "reviewer: approves or denies frozen snapshots, revokes approvals",
    Role.OPERATOR: "operator: works on runs, settles conflicts",
    Role.ADMIN: "admin: repairs unknown outcomes; edits policy, people, agents, destinations",
    Role.AUDITOR: "auditor: reads everything, acts on nothing",
}


def one_line(label: str, help_text: str = "", *, required: bool = True, is_code: bool = False) -> Text:
    """An input of one line."""
    attrs = {"autocomplete": "off", "class": "mono" if is_code else ""}
    return Text(label=label, help_text=help_text, required=required, widget=forms.TextInput(attrs=attrs))


class ListOf(Lines):
    """Names, one on each line."""

    def __init__(self, label: str, help_text: str = "", *, required: bool = False) -> None:
        widget = forms.Textarea(attrs={"rows": 2, "class": "mono"})
        super().__init__(label=label, help_text=help_text or "One on each line.", required=required, widget=widget)

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list | tuple) else value


class Duration(Text):
    """A duration such as `90d`; empty where there is none."""

    def __init__(self, label: str, help_text: str = "", *, required: bool = False) -> None:
        widget = forms.TextInput(attrs={"class": "mono", "autocomplete": "off"})
        super().__init__(label=label, help_text=help_text, required=required, widget=widget)

    def clean(self, value: Any) -> int | None:
        text = super().clean(value).strip()
        if not text:
            return None
        if not DURATION.fits(text):
            raise forms.ValidationError(f"Write {DURATION.words}.")
        return seconds_of(text)


class Roles(forms.MultipleChoiceField):
    """What a person may be."""

    def __init__(self) -> None:
        choices = [(role.value, words) for role, words in ROLE_WORDS.items()]
        super().__init__(label="Roles", choices=choices, required=False, widget=forms.CheckboxSelectMultiple)


class AskedForm(forms.Form):
    """A request of an admin: an id of its own, and why."""

    id = RequestId()
    reason = Reason(help_text="Kept for ever with your name.")

    #: Which input a fault of the action belongs to, where they are called differently.
    names: Mapping[str, str] = {}

    def __init__(self, data: Any = None, *, initial: Mapping[str, Any] | None = None) -> None:
        given = {"id": new_id(), **(initial or {})}
        super().__init__(data, auto_id=f"{type(self).__name__.removesuffix('Form').lower()}-%s", initial=given)
        self.order_fields([name for name in self.fields if name != "reason"])

    def add_faults(self, faults: Sequence[Fault]) -> None:
        """Show each fault at the input it belongs to, or above the form where there is none."""
        for fault in faults:
            member = fault.pointer.strip("/").split("/")[0]
            name = self.names.get(member, member)
            self.add_error(name if name in self.fields else None, fault.detail)


# ---- people ----------------------------------------------------------------------------------------------


class PersonForm(AskedForm):
    """Roles and groups of a person who is there already."""

    roles = Roles()
    groups = ListOf("Groups", "The groups that policies name, such as refund-reviewers; one on each line.")
    names = {"role": "roles", "group": "groups"}

    @classmethod
    def drawn(cls, person: Person) -> "PersonForm":
        """The form with what the person is now."""
        return cls(initial={"roles": person.roles, "groups": person.workflow_groups})


class NewPersonForm(PersonForm):
    """A person to be created; a password is made and shown once."""

    username = one_line("Username", "Letters, digits and @ . + _ -; it never changes.", is_code=True)

    def __init__(self, data: Any = None, *, initial: Mapping[str, Any] | None = None) -> None:
        super().__init__(data, initial=initial)
        self.order_fields(["username"])


# ---- agents ----------------------------------------------------------------------------------------------


class AgentForm(AskedForm):
    """What an agent may do."""

    owner = one_line("Owner", "The person who answers for it. Counts as its person in separation of duties.")
    workflows = ListOf("Workflows", "Slugs, one on each line.")
    scopes = ListOf("Scopes", "Such as refund:note; one on each line. The page of a workflow names them.")
    grants = ListOf("May act for", "Usernames, one on each line.")
    expires = Duration("Expires in", "Such as 90d, counted from now; empty: as it is, or never for a new one.")
    names = {"workflow": "workflows", "scope": "scopes", "on_behalf_of": "grants"}

    @classmethod
    def drawn(cls, agent: Agent) -> "AgentForm":
        """The form with what the agent may do now."""
        return cls(
            initial={
                "owner": agent.owner.username,
                "workflows": agent.workflows,
                "scopes": agent.scopes,
                "grants": agent.grants,
            }
        )

    def terms(self) -> AgentTerms:
        """The terms of a new agent."""
        given = self.cleaned_data
        return AgentTerms(
            given["owner"], tuple(given["workflows"]), tuple(given["scopes"]), tuple(given["grants"]), self._expiry()
        )

    def change(self) -> AgentChange:
        """What should become of an agent that is there already."""
        given = self.cleaned_data
        return AgentChange(
            owner=given["owner"],
            workflows=tuple(given["workflows"]),
            scopes=tuple(given["scopes"]),
            grants=tuple(given["grants"]),
            expires_in=self._expiry(),
        )

    def _expiry(self) -> timedelta | None:
        seconds = self.cleaned_data["expires"]
        return None if seconds is None else timedelta(seconds=seconds)


class NewAgentForm(AgentForm):
    """An agent to be created; its token is shown once."""

    name = one_line("Name", "Letters, digits, dots, hyphens and underscores; it never changes.", is_code=True)

    def __init__(self, data: Any = None, *, initial: Mapping[str, Any] | None = None) -> None:
        super().__init__(data, initial=initial)
        self.order_fields(["name"])


# ---- destinations ------------------------------------------------------------------------------------------


class DestinationForm(AskedForm):
    """Where effects go, and what the provider there can do."""

    adapter = forms.ChoiceField(label="Adapter", choices=[(name, name) for name in ABILITIES])
    url = one_line("Address", "Where effects are sent, such as https://pay.example.com/refunds.", is_code=True)
    lookup_url = one_line("Look-up address", "Asked whether a key happened.", required=False, is_code=True)
    cancel_url = one_line("Cancel address", "Asked to take an effect back.", required=False, is_code=True)
    recognises_repeats = forms.BooleanField(label="Recognises repeats by the idempotency key", required=False)
    key_retention_seconds = Duration("Keeps keys for", "Such as 24h; a repeat later than this would count twice.")
    compares_payloads = forms.BooleanField(label="Refuses a known key with another payload", required=False)
    settle_after_seconds = Duration("Settles after", "Before this, a “not found” proves nothing.", required=True)
    unavailable_means_throttled = forms.BooleanField(
        label="503 with Retry-After means nothing was done", required=False
    )
    max_in_flight = forms.IntegerField(label="At once at most", min_value=1)
    signing_secret_env = one_line(
        "Variable with the signing secret", "Its name only; the secret is read when sending.", required=False,
        is_code=True,
    )  # fmt: skip
    names = {
        "idempotency_key": "recognises_repeats",
        "key_retention": "key_retention_seconds",
        "matches_payload": "compares_payloads",
        "settle_after": "settle_after_seconds",
    }

    @classmethod
    def drawn(cls, terms: Terms) -> "DestinationForm":
        """The form with terms filled in."""
        spans = ("key_retention_seconds", "settle_after_seconds")
        columns = terms.as_columns()
        shown = {name: write_duration(columns[name]) for name in spans if columns[name] is not None}
        return cls(initial={**columns, "key_retention_seconds": "", **shown})

    def columns(self) -> dict[str, JSON]:
        """The terms as they were filled in."""
        return {name: self.cleaned_data[name] for name in Terms.__dataclass_fields__}


class NewDestinationForm(DestinationForm):
    """A destination to be registered."""

    name = one_line("Name", "As workflows call it: a lower-case letter, then letters, digits, - and _.", is_code=True)

    def __init__(self, data: Any = None, *, initial: Mapping[str, Any] | None = None) -> None:
        super().__init__(data, initial=initial)
        self.order_fields(["name"])
