"""The agent of the guide for agent authors, word for word, against a live server."""

import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from pytest_django.live_server_helper import LiveServer

from tests import cast

pytestmark = pytest.mark.django_db(transaction=True)

MESSAGE = {"id": "m1", "from": "customer", "text": "The lid is broken."}


@pytest.fixture
def guide(live_server: LiveServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """The functions of the guide, as the agent `classifier`; R-42 is new."""
    cast.run_received()
    monkeypatch.setenv("CLEARANCE_URL", live_server.url)
    monkeypatch.setenv("CLEARANCE_TOKEN", cast.agent().token)
    page = (settings.BASE_DIR / "docs" / "agents.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {}
    exec(compile(code, "docs/agents.md", "exec"), names)
    monkeypatch.setattr(names["time"], "sleep", lambda seconds: None)
    yield SimpleNamespace(**names)
    names["api"].close()


def test_an_undisturbed_decision_is_committed(guide: SimpleNamespace) -> None:
    assert guide.categorise("R-42", lambda run: ("damage", "Photos show a broken lid.")) == "committed"

    assert cast.reading("R-42").state.fields["category"] == "damage"


def test_a_decision_is_made_anew_when_what_it_rested_on_has_changed(guide: SimpleNamespace) -> None:
    seen = []

    def decide(run: dict[str, Any]) -> tuple[str, str]:
        seen.append(len(run["fields"]["messages"]))
        if not run["fields"]["messages"]:
            cast.command(cast.ada(), "R-42", "add-message", message=MESSAGE)
        return ("damage" if run["fields"]["messages"] else "other"), "As far as I can see."

    assert guide.categorise("R-42", decide) == "committed"
    assert seen == [0, 1]
    assert cast.reading("R-42").state.fields["category"] == "damage"


def test_a_pointless_decision_ends(guide: SimpleNamespace) -> None:
    def decide(run: dict[str, Any]) -> tuple[str, str]:
        cast.command(cast.ada(), "R-42", "set-category", category="damage")
        return "damage", "Photos show a broken lid."

    assert guide.categorise("R-42", decide) == "rejected"


def test_a_request_that_is_wrong_is_an_error_of_the_program(guide: SimpleNamespace) -> None:
    with pytest.raises(RuntimeError, match="invalid-params"):
        guide.categorise("R-42", lambda run: ("red", "I like it."))
