"""The filters of the list of runs: all of them in its address, so that a list can be shared."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import QueryDict

from console.web.paging import Page
from runs.models.ledger import STATUSES
from runs.queries import RunSummary


class RunFilters(forms.Form):
    """Workflow, status, the beginning of the key, and the place in the list."""

    q = forms.CharField(
        required=False,
        max_length=64,
        label="Key begins with",
        widget=forms.TextInput(attrs={"type": "search", "class": "mono", "autocomplete": "off"}),
    )
    workflow = forms.ChoiceField(required=False)
    status = forms.ChoiceField(required=False, choices=[("", "Any status"), *STATUSES])
    before = forms.IntegerField(required=False, min_value=1, max_value=2**63 - 1, widget=forms.HiddenInput)

    def __init__(self, titles: Mapping[str, str], data: QueryDict) -> None:
        super().__init__(data, auto_id="filter-%s")
        self.titles = titles
        self.fields["workflow"].choices = [("", "Every workflow"), *titles.items()]  # type: ignore[attr-defined]  # a choice field

    @property
    def workflows(self) -> Collection[str]:
        """The workflows that are asked for."""
        chosen = self.cleaned_data.get("workflow")
        return [chosen] if chosen else list(self.titles)

    @property
    def criteria(self) -> dict[str, Any]:
        """The rest, as `queries.list_runs` takes it."""
        given = self.cleaned_data
        return {"status": given["status"] or None, "key": given["q"], "before": given["before"]}

    @property
    def is_narrowed(self) -> bool:
        """Whether anything is filtered out."""
        return any(self.data.get(name) for name in ("q", "workflow", "status"))

    def page(self, rows: Sequence[RunSummary], *, has_more: bool) -> Page:
        """The links from these rows to their neighbours."""
        older = self._url(before=rows[-1].id) if has_more else ""
        newest = self._url() if self.data.get("before") else ""
        return Page(newest, older, f"{len(rows)} runs, the newest first")

    def _url(self, **place: int) -> str:
        kept = {name: value for name in ("q", "workflow", "status") if (value := self.data.get(name))}
        return "?" + urlencode(kept | place)
