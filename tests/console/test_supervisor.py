"""The supervisor, with real child processes."""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from console.processes import Program
from console.supervisor import Part, PartFailed, StopRequested, Supervisor
from tests.processes import is_alive, wait_until

FOR_EVER = "import time\nprint('begun', flush=True)\ntime.sleep(600)"
DEAF = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('begun', flush=True)\ntime.sleep(600)"


def program(code: str, folder: Path) -> Program:
    """A program of Python."""
    return Program("python", [sys.executable, "-c", code], folder)


def part(name: str, logs: Path, code: str = FOR_EVER, *, stop_seconds: float = 10) -> Part:
    """A part that runs this Python, and is ready when it has printed something."""
    return Part(
        name,
        prepare=lambda: program(code, logs),
        is_ready=lambda: (logs / f"{name}.log").read_text() != "",
        stop_seconds=stop_seconds,
    )


def heard(lines: list[str], *, stop_at: str = "\0") -> Callable[[str], None]:
    """A listener that keeps the lines, and asks for a stop when it hears a certain one."""

    def listen(line: str) -> None:
        lines.append(line)
        if stop_at in line:
            raise StopRequested

    return listen


def test_waves_start_in_order_and_stop_in_reverse(tmp_path: Path) -> None:
    lines: list[str] = []

    with Supervisor(tmp_path, heard(lines)) as supervisor:
        supervisor.start(part("first", tmp_path))
        supervisor.start(part("second", tmp_path))

    assert [line.split(" (")[0].split(" after")[0] for line in lines] == [
        "first: starting",
        "first: ready",
        "second: starting",
        "second: ready",
        "second: stopped",
        "first: stopped",
    ]


def test_what_dies_is_started_again_and_each_time_later(tmp_path: Path) -> None:
    lines: list[str] = []
    dying = part("dying", tmp_path, "import time\nprint('begun', flush=True)\ntime.sleep(0.3)\nraise SystemExit(7)")

    with pytest.raises(StopRequested), Supervisor(tmp_path, heard(lines, stop_at="again in 1 s")) as supervisor:
        supervisor.start(dying)
        supervisor.watch()

    deaths = [line for line in lines if "code 7" in line]
    assert [line.split(", ")[1].split(";")[0] for line in deaths] == [
        "starting again in 0.5 s",
        "starting again in 1 s",
    ]


def test_a_killed_part_is_named_with_its_signal(tmp_path: Path) -> None:
    lines: list[str] = []
    victim = part("victim", tmp_path)

    with pytest.raises(StopRequested), Supervisor(tmp_path, heard(lines, stop_at="killed by")) as supervisor:
        supervisor.start(victim)
        assert victim.process
        victim.process.kill()
        supervisor.watch()

    assert any("victim: killed by SIGKILL, starting again in 0.5 s" in line for line in lines)


def test_a_part_that_ends_at_its_start_fails_with_the_end_of_its_log(tmp_path: Path) -> None:
    with (
        pytest.raises(PartFailed, match=r"(?s)broken ended at its start.*no such luck"),
        Supervisor(tmp_path, heard([])) as supervisor,
    ):
        supervisor.start(Part("broken", lambda: program("raise SystemExit('no such luck')", tmp_path), lambda: False))


def test_a_part_that_is_never_ready_fails_after_its_time(tmp_path: Path) -> None:
    with (
        pytest.raises(PartFailed, match=r"slow is not ready after 0\.3 s"),
        Supervisor(tmp_path, heard([])) as supervisor,
    ):
        supervisor.start(Part("slow", lambda: program(FOR_EVER, tmp_path), lambda: False, start_seconds=0.3))


def test_what_does_not_stop_in_its_time_is_killed(tmp_path: Path) -> None:
    lines: list[str] = []
    deaf = part("deaf", tmp_path, DEAF, stop_seconds=0.2)

    with Supervisor(tmp_path, heard(lines)) as supervisor:
        supervisor.start(deaf)
        pid = deaf.process.pid if deaf.process else 0

    assert "deaf: did not stop within 0.2 s, killing it" in lines
    assert not is_alive(pid)


def test_a_part_takes_its_own_children_with_it(tmp_path: Path) -> None:
    code = f"import subprocess, sys\nprint(subprocess.Popen([sys.executable, '-c', {DEAF!r}]).pid, flush=True)\n{DEAF}"
    parent = part("parent", tmp_path, code, stop_seconds=0.2)

    with Supervisor(tmp_path, heard([])) as supervisor:
        supervisor.start(parent)
        grandchild = int((tmp_path / "parent.log").read_text().split()[0])
        assert is_alive(grandchild)

    wait_until(lambda: not is_alive(grandchild), "the end of the grandchild")


def test_a_signal_stops_the_watch_and_everything(tmp_path: Path) -> None:
    watched = part("watched", tmp_path)
    lines: list[str] = []

    with pytest.raises(StopRequested), Supervisor(tmp_path, heard(lines)) as supervisor:
        supervisor.start(watched)
        os.kill(os.getpid(), signal.SIGTERM)
        supervisor.watch()

    assert lines[-1] == "watched: stopped"


def test_signals_are_as_before_after_the_supervisor(tmp_path: Path) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)]

    with Supervisor(tmp_path, heard([])):
        pass

    after = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)]
    assert after == before


def test_a_large_log_is_set_aside_at_the_next_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.supervisor.LOG_BYTES", 10)
    (tmp_path / "chatty.log").write_text("what was said long ago")

    with Supervisor(tmp_path, heard([])) as supervisor:
        supervisor.start(part("chatty", tmp_path))

    assert (tmp_path / "chatty.log.1").read_text() == "what was said long ago"
    assert (tmp_path / "chatty.log").read_text() == "begun\n"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's death")
def test_a_killed_supervisor_leaves_no_child(tmp_path: Path) -> None:
    script = textwrap.dedent(f"""
        from pathlib import Path
        from tests.console.test_supervisor import part
        from console.supervisor import Supervisor

        logs = Path({str(tmp_path)!r})
        with Supervisor(logs, lambda line: None) as supervisor:
            child = part("child", logs)
            supervisor.start(child)
            print(child.process.pid, flush=True)
            supervisor.watch()
    """)
    supervisor = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert supervisor.stdout
    with supervisor.stdout as said:
        child = int(said.readline())

    supervisor.kill()
    supervisor.wait()

    wait_until(lambda: not is_alive(child), "the end of the child")
