"""The demo: how its agents take every answer, what is seeded, and all of it at work against a real server."""

import ast
import json
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.conf import global_settings, settings
from django.contrib.auth import authenticate
from django.core.management import CommandError, call_command
from pytest_django.fixtures import Settings

from approvals.destinations import newest_revision
from approvals.models import Decision, Snapshot, StandingApproval
from console import demo, sandbox
from console.demo_agents import parts, reports, stories
from console.demo_agents.desk import TRIES, Answer, Credential, Desk, DeskClosed
from console.demo_agents.errands import Proposal, Run, Worker, command
from console.demo_agents.pace import Pace
from console.demo_agents.reading import amount_for, category_of, half_of, is_urgent, other_payee
from console.management.commands.agent_demo import Command
from console.parts import sandbox_port
from outbox.dispatch import dispatch_due
from outbox.models import Attempt, Effect
from runs import authority
from runs.models import Conflict, Escalation
from tests import cast
from tests.processes import is_alive, wait_until
from tests.sandbox import require_approved

JSON = Any
FOLDER = Path(parts.__file__).parent


# ---- what the agents are made of -------------------------------------------------------------------------


def test_the_agents_know_nothing_of_the_console_but_its_api() -> None:
    known = {*sys.stdlib_module_names, "httpx"}
    for file in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                assert name.startswith("console.demo_agents") or name.split(".")[0] in known, (file.name, name)


# ---- what is read from a customer's words ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "category", "amount"),
    [
        ("The lid arrived broken. I paid EUR 30.00.", "damage", "30.00"),
        ("Order 55172 is a week late. The jars are cracked! I paid EUR 24.50.", "damage", "24.50"),
        ("I was charged EUR 18.90 two times.", "billing", "18.90"),
        ("The parcel is delayed again.", "delay", "5.90"),
        ("A question about the colours.", "other", None),
    ],
)
def test_a_case_is_read_for_what_it_is_about_and_what_is_due(words: str, category: str, amount: str | None) -> None:
    assert (category_of(words), amount_for(words, category)) == (category, amount)


def test_every_story_can_be_classified_and_most_can_be_paid() -> None:
    said = [" ".join((story.opening, *(text for _, text in story.later))) for story in stories.STORIES]

    assert {category_of(words) for words in said} == {"damage", "billing", "delay", "other"}
    assert sum(amount_for(words, category_of(words)) is not None for words in said) == len(said)


def test_what_only_people_know_is_read_too() -> None:
    assert is_urgent("I need it tomorrow.") and not is_urgent("There is no hurry.")
    assert other_payee("Please pay it back to Noam Katz, it was a present.") == "Noam Katz"
    assert other_payee("Please pay it back soon.") is None
    assert half_of("24.55") == "12.28"


# ---- at the desk -----------------------------------------------------------------------------------------


class Still:
    """A clock on which no time passes, and which remembers what was waited."""

    def __init__(self) -> None:
        self.waited: list[float] = []

    def wait(self, seconds: float) -> None:
        self.waited.append(seconds)


Reply = Callable[[httpx.Request], httpx.Response]


def desk_answering(
    monkeypatch: pytest.MonkeyPatch, *replies: Reply, credential: Credential | None = None
) -> tuple[Desk, list[httpx.Request], Still]:
    """A desk behind which these replies are given in turn, and the requests it got."""
    asked: list[httpx.Request] = []
    pending = list(replies)

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return pending.pop(0)(request)

    client = httpx.Client
    transport = httpx.MockTransport(answer)
    monkeypatch.setattr(httpx, "Client", lambda **given: client(transport=transport, **given))
    clock = Still()
    return Desk("http://desk.test", credential or Credential(token="clr_x"), clock), asked, clock


def saying(status: int, **body: JSON) -> Reply:
    return lambda request: httpx.Response(status, json=body, headers={"ETag": '"1.2"'})


def silence(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadTimeout("nobody answers", request=request)


def test_a_request_that_nobody_answered_is_sent_again_word_for_word(monkeypatch: pytest.MonkeyPatch) -> None:
    later = saying(503, code="unavailable"), saying(429), saying(409, code="command-in-progress")
    desk, asked, clock = desk_answering(monkeypatch, silence, *later, saying(201, outcome="committed"))

    answer = desk.post("/runs/R-1/commands/", {"id": "c-1"}, '"1.1"')

    assert (answer.status, answer.tag, answer.is_done) == (201, '"1.2"', True)
    assert {(request.content, request.headers["If-Match"]) for request in asked} == {(b'{"id":"c-1"}', '"1.1"')}
    assert clock.waited == [0.5, 1, 2, 4]


def test_a_desk_where_nobody_ever_answers_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    desk, asked, _ = desk_answering(monkeypatch, *[silence] * TRIES)

    with pytest.raises(DeskClosed):
        desk.get("/runs/")
    assert len(asked) == TRIES


def test_a_conflict_is_an_answer_and_not_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    desk, asked, _ = desk_answering(monkeypatch, saying(412, code="version-conflict", disposition="retry"))

    assert desk.post("/runs/R-1/commands/", {"id": "c-1"}, '"1.1"').disposition == "retry"
    assert len(asked) == 1


def test_a_person_signs_in_when_asked_to_and_carries_the_token_of_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    signed_in = saying(200, csrf_token="t-1")
    who = Credential(username="demo-operator", password="p")
    desk, asked, _ = desk_answering(monkeypatch, saying(401), signed_in, saying(201), credential=who)

    desk.post("/runs/R-1/commands/", {"id": "c-1"}, '"1.1"')

    assert json.loads(asked[1].content) == {"username": "demo-operator", "password": "p"}
    assert asked[2].headers["X-CSRFToken"] == "t-1"
    assert "Authorization" not in asked[2].headers


def test_a_person_whom_nobody_lets_in_finds_the_desk_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    who = Credential(username="demo-operator", password="p")
    desk, asked, _ = desk_answering(monkeypatch, saying(401), saying(401, code="unauthenticated"), credential=who)

    with pytest.raises(DeskClosed, match="cannot sign in"):
        desk.get("/runs/")
    assert len(asked) == 2


# ---- how an agent takes its answers ----------------------------------------------------------------------


class FakeDesk:
    """A desk with one case, whose answers to requests are given in turn."""

    def __init__(self, *answers: Answer) -> None:
        self.version = 1
        self.fields: dict[str, JSON] = {"category": None}
        self.record: dict[str, JSON] = {}
        self.answers = list(answers)
        self.posted: list[tuple[str, Mapping[str, JSON], str | None]] = []

    def get(self, path: str, **query: str) -> Answer:
        if path == "/runs/":
            return Answer(200, {"items": [{"key": "R-1", "status": "working", "version": self.version}]})
        if path == "/runs/R-1/":
            return Answer(200, {"key": "R-1", "status": "working", "fields": dict(self.fields)}, f'"1.{self.version}"')
        return Answer(200, self.record)

    def post(self, path: str, body: Mapping[str, JSON], tag: str | None = None) -> Answer:
        self.posted.append((path, body, tag))
        return self.answers.pop(0)

    def moved(self, **fields: JSON) -> None:
        """Somebody else changes the case."""
        self.version += 1
        self.fields |= fields

    @property
    def tags(self) -> list[str | None]:
        return [tag for _, _, tag in self.posted]

    @property
    def ids(self) -> list[str]:
        return [body["id"] for _, body, _ in self.posted]


def refused(disposition: str) -> Answer:
    return Answer(412, {"code": "version-conflict", "disposition": disposition, "retry_after_ms": 0})


COMMITTED = Answer(201, {"outcome": "committed"})


def sort(run: Run) -> Iterator[Proposal]:
    """Sets the category to what the hint says, while there is none."""
    if run.fields["category"] is None:
        yield command("set-category", {"category": run.fields.get("hint", "damage")}, "It looks like it.", 0)


def worker(desk: FakeDesk) -> Worker:
    return Worker("tester", desk, Pace(), sort)  # type: ignore[arg-type]  # all that is asked of a desk is there


def go_on(who: Worker, desk: FakeDesk) -> None:
    """Let everything be due that the worker waits for."""
    for errand in who.errands.values():
        errand.due = 0
    who.act()


def test_a_decision_is_sent_with_the_tag_of_the_version_it_was_made_on() -> None:
    desk = FakeDesk(COMMITTED)
    who = worker(desk)
    who.look()
    desk.moved(notes="something else")

    who.act()

    assert desk.tags == ['"1.1"']
    assert not who.errands


def test_after_a_retry_the_agent_reads_again_and_sends_the_same_decision_under_the_same_id() -> None:
    desk = FakeDesk(refused("retry"), COMMITTED)
    who = worker(desk)
    who.look()
    desk.moved()
    who.act()

    go_on(who, desk)

    assert desk.tags == ['"1.1"', '"1.2"']
    assert desk.ids[0] == desk.ids[1]


def test_another_decision_after_a_retry_takes_another_id() -> None:
    desk = FakeDesk(refused("retry"), COMMITTED)
    who = worker(desk)
    who.look()
    desk.moved(hint="delay")
    who.act()

    go_on(who, desk)

    assert [body["params"]["category"] for _, body, _ in desk.posted] == ["damage", "delay"]
    assert desk.ids[0] != desk.ids[1]


def test_after_a_retry_with_nothing_left_to_do_the_agent_does_nothing() -> None:
    desk = FakeDesk(refused("retry"))
    who = worker(desk)
    who.look()
    desk.moved(category="billing")

    who.act()

    assert not who.errands
    assert len(desk.posted) == 1


def test_what_is_rejected_is_given_up_until_the_record_moves() -> None:
    desk = FakeDesk(refused("reject"), COMMITTED)
    who = worker(desk)
    who.look()
    who.act()
    who.look()
    who.act()
    assert len(desk.posted) == 1

    desk.moved()
    who.look()
    who.act()

    assert len(desk.posted) == 2


@pytest.mark.parametrize("state", ["committed", "superseded", "rejected"])
def test_an_escalated_decision_waits_for_the_operator_and_writes_nothing_meanwhile(state: str) -> None:
    desk = FakeDesk(refused("escalate"))
    desk.record = {"state": "escalated"}
    who = worker(desk)
    who.look()
    who.act()
    for _ in range(3):
        desk.moved()
        who.look()
        go_on(who, desk)
    assert len(desk.posted) == 1

    desk.record = {"state": state}
    go_on(who, desk)
    desk.moved()
    who.look()
    who.act()

    assert len(desk.posted) == 1
    assert not who.errands


def test_a_decision_that_is_sent_back_is_made_anew_on_the_record_as_it_is() -> None:
    desk = FakeDesk(refused("escalate"), COMMITTED)
    who = worker(desk)
    who.look()
    who.act()
    desk.moved(hint="delay")
    desk.record = {"state": "retry"}

    go_on(who, desk)
    go_on(who, desk)

    assert [(body["params"]["category"], tag) for _, body, tag in desk.posted] == [
        ("damage", '"1.1"'),
        ("delay", '"1.2"'),
    ]


def test_what_the_record_does_not_allow_now_is_tried_again_later() -> None:
    desk = FakeDesk(Answer(409, {"code": "invalid-transition"}), COMMITTED)
    who = worker(desk)
    who.look()
    who.act()
    who.act()
    assert len(desk.posted) == 1

    go_on(who, desk)

    assert len(desk.posted) == 2


def test_what_is_above_the_limit_is_noted_for_a_person_and_not_tried_again() -> None:
    above = Answer(403, {"code": "limit-exceeded", "detail": "Too much.", "actual": "749.00"})
    desk = FakeDesk(above, COMMITTED)
    who = Worker("tester", desk, Pace(), sort, parts.leave_to_a_person)  # type: ignore[arg-type]  # see `worker`
    who.look()
    who.act()
    go_on(who, desk)
    desk.moved()
    who.look()
    who.act()

    assert [body["name"] for _, body, _ in desk.posted] == ["set-category", "add-note"]
    assert desk.posted[1][1]["params"]["note"]["text"] == "Too much. The policy table gives 749.00."


def test_a_report_is_put_together_only_when_both_artifacts_are_there() -> None:
    run = Run('"1.3"', {"key": "Q-1", "input_version": 2, "fields": {"question": "Why?", "audience": "All"}})
    there: set[str] = set()

    class Shelf(FakeDesk):
        def get(self, path: str, **query: str) -> Answer:
            artifact = path.removeprefix("/artifacts/").strip("/")
            return Answer(200, {"artifact": artifact, "sha256": "sha256:0"}) if artifact in there else Answer(404)

    build = reports.send(run).build
    assert build(Shelf()) is None  # type: ignore[arg-type]  # see `worker`
    there |= {"Q-1:research:2:a", "Q-1:calculation:2:a"}

    body = build(Shelf())  # type: ignore[arg-type]  # see `worker`
    assert body is not None
    assert body["artifacts"] == {"research": "Q-1:research:2:a", "calculation": "Q-1:calculation:2:a"}
    assert body["payload"]["artifacts"]["research"] == {"id": "Q-1:research:2:a", "sha256": "sha256:0"}


# ---- what is seeded --------------------------------------------------------------------------------------


@pytest.fixture
def workflows(db: None) -> None:
    for slug in ("refund", "report"):
        cast.workflow(slug)


def seeded(home: Path) -> dict[str, JSON]:
    demo.seed(home)
    made = demo.read(home)
    assert made is not None
    return made


@pytest.mark.usefixtures("workflows")
def test_what_is_seeded_can_be_used_and_nobody_else_can_read_it(tmp_path: Path) -> None:
    made = seeded(tmp_path)

    assert stat.S_IMODE((tmp_path / demo.FILE).stat().st_mode) == 0o600
    assert all(authenticate(username=who["username"], password=who["password"]) for who in made["people"])
    assert {authority.principal_for_token(token).name for token in made["agents"].values()} == {*demo.AGENTS}
    processes = ["classifier", "pricing", "intake", "demo-operator", "demo-reviewer"]
    assert [name for name, _ in demo.credentials(made)] == processes
    assert all(newest_revision(name) for name in demo.DESTINATIONS)
    assert StandingApproval.objects.get().giver.username == "lena"


@pytest.mark.usefixtures("workflows")
def test_seeding_again_changes_nothing(tmp_path: Path) -> None:
    first, epoch = seeded(tmp_path), authority.current_epoch()

    assert (seeded(tmp_path), authority.current_epoch()) == (first, epoch)


@pytest.mark.usefixtures("workflows")
def test_lost_secrets_are_replaced(tmp_path: Path) -> None:
    before = seeded(tmp_path)
    (tmp_path / demo.FILE).unlink()

    after = seeded(tmp_path)

    assert authenticate(username="mara", password=after["people"][0]["password"])
    assert not authenticate(username="mara", password=before["people"][0]["password"])
    assert authority.principal_for_token(after["agents"]["pricing"]).name == "pricing"


def test_where_nothing_was_seeded_there_is_no_demo(tmp_path: Path) -> None:
    assert demo.read(tmp_path) is None


# ---- all of it at work -----------------------------------------------------------------------------------

SPEED = 6
PATIENCE_SECONDS = 150


@pytest.fixture
def home(transactional_db: None, settings: Settings, tmp_path: Path) -> Path:
    """A folder with the credentials of a demo on the test database, with passwords as a real process hashes them."""
    settings.PASSWORD_HASHERS = global_settings.PASSWORD_HASHERS
    settings.CLEARANCE_ALLOW_PRIVATE_DESTINATIONS = True
    with socket.create_server(("127.0.0.1", 0)) as free:
        settings.CLEARANCE_PORT = free.getsockname()[1] - sandbox_port(0)
    for slug in ("refund", "report"):
        cast.workflow(slug)
    demo.seed(tmp_path)
    return tmp_path


def stop(process: subprocess.Popen[bytes]) -> int:
    process.send_signal(signal.SIGTERM)
    return process.wait(30)


def started(arguments: Sequence[str], environment: Mapping[str, str], log: Path) -> subprocess.Popen[bytes]:
    """A real process of ours, in the application's role."""
    with log.open("wb") as output:
        command = [sys.executable, *arguments]
        return subprocess.Popen(command, cwd=settings.BASE_DIR, env=environment, stdout=output, stderr=output)


@pytest.fixture
def server(home: Path, process_environment: dict[str, str]) -> Iterator[str]:
    """The address of a real server on the test database."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["-m", "gunicorn", "--bind", f"127.0.0.1:{port}", "--workers", "2", "console.wsgi"]
    process = started(options, process_environment, home / "web.log")
    url = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        try:
            return httpx.get(f"{url}/healthz").is_success
        except httpx.TransportError:
            return False

    try:
        wait_until(answers, "the server's answer", 30)
        yield url
    finally:
        stop(process)


@pytest.fixture
def provider(home: Path, process_environment: dict[str, str]) -> Iterator[Path]:
    """The sandbox provider of the demo; gives its ledger, into which only approved bytes came."""
    ledger = home / "sandbox-ledger.jsonl"
    port = str(sandbox_port(settings.CLEARANCE_PORT))
    process = started(
        ["manage.py", "sandbox", "--port", port, "--ledger", str(ledger)], process_environment, home / "p"
    )
    try:
        yield ledger
    finally:
        stop(process)
    require_approved(sandbox.Provider(ledger).deliveries)


def agents_at_work(home: Path, server: str, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """The agents of the demo, with the same things happening every time."""
    options = ["manage.py", "agent_demo", "--home", str(home), "--url", server, "--speed", str(SPEED), "--seed", "1"]
    return started(options, environment | {"CLEARANCE_PORT": str(settings.CLEARANCE_PORT)}, home / "agents.log")


@pytest.mark.timeout(300)
def test_within_a_minute_the_demo_shows_every_disposition_and_leaves_everything_sound(
    home: Path, server: str, provider: None, process_environment: dict[str, str]
) -> None:
    agents = agents_at_work(home, server, process_environment)
    try:
        wait_until(
            lambda: (
                set(Conflict.objects.values_list("disposition", flat=True)) == {"merge", "retry", "reject", "escalate"}
            ),
            "every disposition",
            PATIENCE_SECONDS,
        )
        wait_until(lambda: Snapshot.objects.filter(action="send").exists(), "a report under review", PATIENCE_SECONDS)
        wait_until(partial(_sent_with, "throttled", "payments"), "a payment that has to wait", PATIENCE_SECONDS)
        wait_until(partial(_sent_with, "unknown", "customer-reports"), "a report that may be lost", PATIENCE_SECONDS)
        wait_until(_is_frozen_anew, "a review whose record changed", PATIENCE_SECONDS)
        children = _children(agents.pid)
    finally:
        code = stop(agents)

    assert code == 0, (home / "agents.log").read_text()
    assert len(children) == 5 and not any(map(is_alive, children))
    assert Escalation.objects.filter(state="open").exists()
    assert Effect.objects.get(state="needs_reconciliation").destination == "customer-reports"
    approvals = Decision.objects.filter(standing_approval=None)
    assert {*approvals.values_list("person__username", flat=True)} == {"demo-reviewer"}
    verify = started(["manage.py", "verify"], process_environment, home / "verify.log")
    assert verify.wait(60) == 0, (home / "verify.log").read_text()


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("provider")
def test_a_demo_that_is_started_again_goes_on_and_repeats_neither_the_wait_nor_the_lost_report(
    home: Path, server: str, process_environment: dict[str, str]
) -> None:
    agents = agents_at_work(home, server, process_environment)
    try:
        wait_until(partial(_sent_with, "unknown", "customer-reports"), "a report that may be lost", PATIENCE_SECONDS)
    finally:
        stop(agents)
    before = Snapshot.objects.count()

    agents = agents_at_work(home, server, process_environment)
    try:
        wait_until(lambda: Snapshot.objects.count() >= before + 2, "more reviews", PATIENCE_SECONDS)
        wait_until(partial(_sent_with, "accepted", "payments"), "a payment", PATIENCE_SECONDS)
    finally:
        code = stop(agents)

    assert code == 0, (home / "agents.log").read_text()
    assert Attempt.objects.filter(outcome="throttled").count() == 1
    assert Effect.objects.filter(destination="customer-reports").count() == 1
    assert Decision.objects.filter(standing_approval=None).count() == 1


def _is_frozen_anew() -> bool:
    """Whether a payment waits to be decided whose record was under review before, with other facts."""
    return Snapshot.objects.filter(action="pay", candidate__gt=1, effect=None).exists()


def _sent_with(outcome: str, destination: str) -> bool:
    """Whether an attempt there came to this, after whatever is due was sent as a worker sends it."""
    dispatch_due("demo")
    return Attempt.objects.filter(effect__destination=destination, outcome=outcome).exists()


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_without_a_demo_its_agents_say_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="up --demo"):
        call_command(Command(), home=tmp_path)
