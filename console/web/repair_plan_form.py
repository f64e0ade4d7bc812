"""Planning one repair of several effects: the form."""

from typing import Any

from django import forms
from django.http import QueryDict

from console.forms import Reason, RequestId, new_id
from outbox.plans import MOST_ROWS, PlanRequest
from outbox.states import RepairKind

REPAIRS = (
    (RepairKind.MARK_FAILED.value, "Mark as failed"),
    (RepairKind.RESEND.value, "Send again"),
    (RepairKind.RELEASE.value, "Release from quarantine"),
)


class PlanForm(forms.Form):
    """Which effects, which repair, and why. It plans; nothing is changed."""

    id = RequestId()
    effects = forms.MultipleChoiceField(error_messages={"required": "Choose at least one effect."})
    repair = forms.ChoiceField(choices=REPAIRS, error_messages={"required": "Choose a repair."})
    reason = Reason(label="Why")

    def __init__(self, data: QueryDict | None = None, **options: Any) -> None:
        super().__init__(data, auto_id="plan-%s", **options)
        fields: Any = self.fields  # a choice field, whose stub does not know its choices
        chosen = data.getlist("effects")[: MOST_ROWS + 1] if data else []
        fields["effects"].choices = [(number, number) for number in chosen]
        self.fields["reason"].widget.attrs["rows"] = 1

    @classmethod
    def drawn(cls) -> "PlanForm":
        """A new form."""
        return cls(initial={"id": new_id()})

    @property
    def chosen(self) -> list[str]:
        return self.data.getlist("effects") if self.is_bound else []  # type: ignore[attr-defined]  # a QueryDict

    def request(self) -> PlanRequest:
        """What was asked for, from a valid form."""
        given = self.cleaned_data
        return PlanRequest(given["id"], tuple(given["effects"]), RepairKind(given["repair"]), given["reason"])
