"""Five kinds of refusal on five counters, requests by route, and who may read the numbers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.test import Client
from prometheus_client import REGISTRY
from pytest_django import Settings

from console import metrics_folder
from console.limits import Limit, limiter
from runs.errors import RateLimited, Unavailable
from tests import cast
from tests.console.api.caller import Caller, as_agent

pytestmark = pytest.mark.django_db

FIVE = (
    "clearance_version_conflicts",
    "clearance_budgets_exhausted",
    "clearance_invalid_transitions",
    "clearance_throttled",
    "clearance_unavailable",
)


def numbers() -> dict[str, float]:
    """The five counters, each over all its labels."""
    found = dict.fromkeys(FIVE, 0.0)
    for metric in REGISTRY.collect():
        if metric.name in found:
            found[metric.name] = sum(sample.value for sample in metric.samples if sample.name.endswith("_total"))
    return found


def one(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


@pytest.fixture
def bot() -> Caller:
    cast.run_received()
    return as_agent(cast.agent())


def grown(before: dict[str, float]) -> dict[str, float]:
    """What grew since, and by how much."""
    return {name: value - before[name] for name, value in numbers().items() if value != before[name]}


# ---- counting --------------------------------------------------------------------------------------------


def test_a_conflict_is_counted_by_workflow_command_and_disposition(bot: Caller) -> None:
    cast.command(cast.ada(), "R-42", "set-category", category="damage")
    labels = {"workflow": "refund", "command": "set-category", "disposition": "escalate"}
    before, of_these = numbers(), one("clearance_version_conflicts_total", **labels)

    bot.command("R-42", "set-category", tag='"1.1"', category="billing")

    assert grown(before) == {"clearance_version_conflicts": 1}
    assert one("clearance_version_conflicts_total", **labels) == of_these + 1


def test_a_merge_is_a_conflict_and_a_commit_is_none(bot: Caller) -> None:
    labels = {"workflow": "refund", "command": "add-tag", "disposition": "merge"}
    before, of_these = numbers(), one("clearance_version_conflicts_total", **labels)

    bot.post("/runs/R-42/commands/", add_tag("a"), tag='"1.1"')
    assert grown(before) == {}
    bot.post("/runs/R-42/commands/", add_tag("b"), tag='"1.1"')

    assert grown(before) == {"clearance_version_conflicts": 1}
    assert one("clearance_version_conflicts_total", **labels) == of_these + 1


def add_tag(value: str) -> dict[str, object]:
    return {"id": f"c-{value}", "name": "add-tag", "params": {"tag": value}, "reason": "A regular."}


def test_a_repeat_is_counted_once(bot: Caller) -> None:
    cast.command(cast.ada(), "R-42", "set-category", category="damage")
    before = numbers()

    for _ in range(3):
        bot.command("R-42", "set-category", tag='"1.1"', category="billing")

    assert grown(before) == {"clearance_version_conflicts": 1}


def test_an_exhausted_budget_is_counted_apart(bot: Caller) -> None:
    before = numbers()

    for number in range(1, 4):
        message = {"id": f"m{number}", "from": "customer", "text": "And another thing."}
        cast.command(cast.ada(), "R-42", "add-message", message=message)
        bot.command("R-42", "set-category", tag=f'"1.{number}"', id=f"c-{number}", category="billing")

    assert grown(before) == {"clearance_version_conflicts": 3, "clearance_budgets_exhausted": 1}


def test_an_invalid_transition_is_no_conflict(bot: Caller) -> None:
    before = numbers()

    bot.command("R-42", "reopen-case", tag='"1.1"')

    assert grown(before) == {"clearance_invalid_transitions": 1}


def test_a_throttled_request_is_counted(bot: Caller, settings: Settings) -> None:
    settings.API_LIMITS = {"agent": (1, 1), "person": (1, 1)}
    limit = Limit(1, 1)
    with pytest.raises(RateLimited):
        for _ in range(3):
            limiter().take("agent:classifier", limit)
    before = numbers()

    assert bot.get("/runs/R-42/").status_code == 429

    assert grown(before) == {"clearance_throttled": 1}


def test_a_busy_record_is_counted(bot: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_: object, **__: object) -> None:
        raise Unavailable

    monkeypatch.setattr("runs.actions.claim_id", busy)
    before = numbers()

    assert bot.command("R-42", "set-category", tag='"1.1"', category="billing").status_code == 503

    assert grown(before) == {"clearance_unavailable": 1}


def test_requests_are_timed_by_route_without_ids(bot: Caller) -> None:
    labels = {"method": "GET", "route": "api/v1/runs/<run:key>/", "status": "200"}
    before = one("clearance_request_seconds_count", **labels)

    bot.get("/runs/R-42/")
    bot.get("/nowhere/R-42/")
    bot.client.generic("BREW", "/api/v1/runs/R-42/")

    assert one("clearance_request_seconds_count", **labels) == before + 1
    text = Client().get("/metrics").content.decode()
    assert "R-42" not in text and "BREW" not in text
    assert 'route="none"' in text and 'method="other"' in text


# ---- telling ---------------------------------------------------------------------------------------------


def test_the_numbers_are_told_in_the_format_of_prometheus() -> None:
    response = Client().get("/metrics")

    assert response.headers["Content-Type"].startswith("text/plain; version=")
    for name in FIVE:
        assert f"# TYPE {name}_total counter" in response.content.decode()


@pytest.mark.parametrize(
    ("token", "production", "address", "given", "status"),
    [
        ("", False, "127.0.0.1", "", 200),
        ("", False, "::1", "", 200),
        ("", False, "10.0.0.7", "", 404),
        ("", True, "127.0.0.1", "", 404),
        ("s3", False, "127.0.0.1", "", 404),
        ("s3", True, "10.0.0.7", "Bearer s3", 200),
        ("s3", True, "10.0.0.7", "Bearer s4", 404),
        ("s3", True, "10.0.0.7", "Bearer ś", 404),
    ],
)
def test_the_numbers_are_for_whoever_has_the_token_or_is_on_this_machine(
    settings: Settings, token: str, production: bool, address: str, given: str, status: int
) -> None:
    settings.CLEARANCE_METRICS_TOKEN = token
    settings.PRODUCTION = production

    response = Client(REMOTE_ADDR=address, headers={"Authorization": given}).get("/metrics")

    assert response.status_code == status


_COUNT_ONE = """
import sys
from console import metrics
metrics.throttled.inc()
sys.stdout.buffer.write(metrics.generate_latest(metrics._registry()))
"""


def run_python(code: str, environment: dict[str, str]) -> str:
    """What a process of its own prints."""
    process = subprocess.run(
        [sys.executable, "-c", code],
        cwd=django_settings.BASE_DIR,
        env=environment,
        capture_output=True,
        check=True,
        timeout=30,
    )
    return process.stdout.decode()


def test_processes_of_one_server_share_their_numbers(tmp_path: Path, process_environment: dict[str, str]) -> None:
    environment = process_environment | {metrics_folder.VARIABLE: str(tmp_path)}

    first, second = (run_python(_COUNT_ONE, environment) for _ in range(2))

    assert "clearance_throttled_total 1.0" in first
    assert "clearance_throttled_total 2.0" in second


_ANNOUNCE = """
import os
from console import metrics_folder
metrics_folder.announce()
print(os.environ[metrics_folder.VARIABLE])
"""


def test_the_folder_of_the_numbers_goes_with_its_maker(tmp_path: Path) -> None:
    folder = Path(run_python(_ANNOUNCE, {"TMPDIR": str(tmp_path)}).strip())

    assert folder.parent == tmp_path and folder.name.startswith("clearance-metrics-")
    assert not folder.exists()


def test_the_folder_of_a_maker_that_was_killed_is_removed_and_no_other(tmp_path: Path) -> None:
    killed = tmp_path / "clearance-metrics-4194305-abc"  # beyond the highest number of a process
    running = tmp_path / f"clearance-metrics-{os.getpid()}-abc"
    other = tmp_path / "clearance-metrics-notes"
    for folder in (killed, running, other):
        folder.mkdir()

    run_python(_ANNOUNCE, {"TMPDIR": str(tmp_path)})

    assert [killed.exists(), running.exists(), other.exists()] == [False, True, True]
