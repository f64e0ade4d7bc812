"""`make bench`: measure commits, dispatches and lists beside their anchors, and print a table of ratios.

    python -m tests.bench [--rounds N] [--seconds S] [--goals 1-7,8,9]

Anchors that are not installed (DBOS, LangGraph's saver) are named and left out; `pip install` of
`requirements/bench.txt` brings them.
"""

import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import psycopg

from console import binaries
from console.home import APP_ROLE, DATABASE, OWNER_ROLE, Home
from tests.bench.harness import Goal, Measure, Results, clients, interleave, table
from tests.bench.lists import EFFECTS
from tests.bench.multiply import multiply
from tests.services import Services, environment

HERE = Path(__file__).parent
CLIENTS = 4
HTTP_CLIENTS = 16
HOT_CLIENTS = 16

GOALS = [
    Goal("1", "commit in process / raw one-statement commit", "ours", "raw", 0.60, 0.80),
    Goal("2", "commit in process / pgbench, many statements", "ours", "pgbench", 1.0),
    Goal("3a", "commit over HTTP / unsafe DRF endpoint", "http ours", "http unsafe", 1.5, 2.5),
    Goal("3b", "commit over HTTP / naive safe DRF endpoint", "http ours", "http safe", 3.0),
    Goal("5a", "commit in process / DBOS one-step workflow", "ours", "dbos", 10.0),
    Goal("5b", "commit over HTTP / DBOS one-step workflow", "http ours", "dbos", 2.5),
    Goal("6", "commit in process / LangGraph PostgresSaver.put", "ours", "langgraph", 1.0),
    Goal("7", "hot record, 16 clients / one free client", "hot", "one client", 0.8, 2.0),
    Goal("8a", "dispatch / raw batches of 100 that write the same rows", "dispatch", "dispatch raw", 0.60),
    Goal("8b", "dispatch / Celery tasks that do nothing", "dispatch", "dispatch celery", 8.0),
    Goal("8c", "dispatch / procrastinate tasks that do nothing", "dispatch", "dispatch procrastinate", 8.0),
]

#: The groups that can be measured by themselves.
COMMITS, DISPATCHES, LISTS = range(1, 8), (8,), (9,)

#: How many effects the lists are read among; the first is what the second is held against.
FEW, MANY = 1_000, 1_000_000


class DurableServices(Services):
    """The pair with the settings that data is kept with."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Home.open(self.home.root, account=binaries.service_account(create=False))


def main() -> None:
    options = _options()
    os.environ.update(environment())  # names the home that services and clients share
    services = DurableServices()
    services.start()
    try:
        env = _prepare(services.home)
        results, latency = Results(), None
        if options.goals & set(DISPATCHES):
            results.rounds |= interleave(_dispatches(env, services.home), options.rounds).rounds
        if options.goals & set(COMMITS):
            results.rounds |= interleave(_cases(env, options.seconds), options.rounds).rounds
            latency = _http(env, options, results)
        lists = _lists(env, services.home, options.rounds) if options.goals & set(LISTS) else None
        print("\n".join([*_report(results, latency), *(held_against(*lists) if lists else [])]))
    finally:
        services.stop()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Measure beside the anchors.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--goals", type=_goals, default=_goals("1-9"), help="such as 1-7,8; by default all")
    return parser.parse_args()


def _goals(text: str) -> set[int]:
    """The numbers that a list of numbers and spans names."""
    chosen: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        chosen |= set(range(int(first), int(last or first) + 1))
    return chosen


# ---- setting up ------------------------------------------------------------------------------------------


def _prepare(home: Home) -> dict[str, str]:
    """A migrated database with runs, agents and the anchors' tables. Returns the environment of the clients."""
    env = os.environ | environment() | {"DJANGO_SETTINGS_MODULE": "console.settings", "PYTHONWARNINGS": "ignore"}
    subprocess.run([sys.executable, "manage.py", "migrate", "--verbosity", "0"], env=env, check=True)
    prepared = subprocess.run(
        [sys.executable, "-m", "tests.bench.prepare"], env=env, check=True, stdout=subprocess.PIPE, text=True
    )
    dsn = home.database_url(OWNER_ROLE)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute((HERE / "raw.sql").read_text())
    anchors = env | {"DJANGO_SETTINGS_MODULE": "tests.bench.anchors.settings", "DATABASE_URL": dsn}
    subprocess.run([sys.executable, "-m", "tests.bench.prepare", "anchors"], env=anchors, check=True)
    return env | {"BENCH_DSN": dsn, "BENCH_TOKENS": prepared.stdout.strip().splitlines()[-1]}


def _cases(env: dict[str, str], seconds: float) -> dict[str, Measure]:
    """Every case in this process's reach, as a measurement of its rate."""

    def client(case: str, count: int, **more: str) -> Measure:
        command = [sys.executable, "-m", "tests.bench.client", case, str(seconds)]
        return lambda: clients(count, command, env | more)

    anchors = {"DJANGO_SETTINGS_MODULE": "tests.bench.anchors.settings", "DATABASE_URL": env["BENCH_DSN"]}
    cases: dict[str, Measure] = {
        "raw": client("raw", CLIENTS),
        "ours": client("ours", CLIENTS),
        "pgbench": lambda: _pgbench(env, seconds),
        "naive": client("naive", CLIENTS, **anchors),
        "one client": client("ours", 1),
        "hot": client("hot", HOT_CLIENTS),
    }
    for name, package in (("dbos", "dbos"), ("langgraph", "langgraph")):
        if importlib.util.find_spec(package):
            client(name, 1, BENCH_DBOS_URL=env["BENCH_DSN"])()  # alone first: each makes its own tables
            cases[name] = client(name, CLIENTS, BENCH_DBOS_URL=env["BENCH_DSN"])
        else:
            print(f"  {name} is not installed and left out", file=sys.stderr)
    return cases


def _dispatches(env: dict[str, str], home: Home) -> dict[str, Measure]:
    """Working off jobs that do nothing: ours, the same rows by raw SQL, and two task queues."""
    dsn = home.database_url(OWNER_ROLE)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute((HERE / "outbox.sql").read_text())
    multiply(dsn, "BENCH-SENT", "SENT", 40_000)

    def sending(case: str) -> Measure:
        command = [sys.executable, "-m", "tests.bench.sending", case]
        return lambda: float(subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout)

    cases = {"dispatch": sending("ours"), "dispatch raw": sending("raw"), "dispatch celery": sending("celery")}
    if importlib.util.find_spec("procrastinate"):
        cases["dispatch procrastinate"] = sending("procrastinate")
    else:
        print("  procrastinate is not installed and left out", file=sys.stderr)
    return cases


def _lists(env: dict[str, str], home: Home, rounds: int) -> tuple[Results, Results]:
    """Reading lists of effects among few of them and among many, in turn."""
    owner, few = home.database_url(OWNER_ROLE), "bench_few"
    multiply(owner, "BENCH-SENT", "LIST1", FEW, whole=False, effect=EFFECTS)
    with psycopg.connect(home.database_url(OWNER_ROLE, "postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {few} TEMPLATE {DATABASE} OWNER {OWNER_ROLE}")
    multiply(owner, "BENCH-SENT", "LIST2", MANY - FEW, whole=False, effect=EFFECTS)
    places = [(Results(), env | {"DATABASE_URL": home.database_url(APP_ROLE, name)}) for name in (few, DATABASE)]
    for _ in range(rounds):
        for seen, there in places:
            command = [sys.executable, "-m", "tests.bench.lists"]
            done = subprocess.run(command, env=there, stdout=subprocess.PIPE, text=True, check=True)
            for name, figure in json.loads(done.stdout.splitlines()[-1]).items():
                seen.rounds.setdefault(name, []).append(figure)
    return places[0][0], places[1][0]


def _pgbench(env: dict[str, str], seconds: float) -> float:
    program = binaries.postgres_programs() / "pgbench"
    command = [str(program), "-n", "-M", "prepared", "-c", str(CLIENTS), "-j", "2", "-T", str(max(1, round(seconds)))]
    done = subprocess.run(
        [*command, "-f", str(HERE / "many.pgbench"), env["BENCH_DSN"]], capture_output=True, text=True, check=True
    )
    return float(re.search(r"tps = ([0-9.]+)", done.stdout).group(1))  # type: ignore[union-attr]


# ---- over HTTP -------------------------------------------------------------------------------------------


def _http(env: dict[str, str], options: argparse.Namespace, results: Results) -> dict[str, float]:
    """Measure the endpoints behind two web workers each, interleaved; returns the latencies of ours."""
    anchors = {"DJANGO_SETTINGS_MODULE": "tests.bench.anchors.settings", "DATABASE_URL": env["BENCH_DSN"]}
    ours = _serve("console.wsgi:application", 8941, env)
    theirs = _serve("tests.bench.anchors.wsgi:application", 8942, env | anchors)
    versions: dict[str, int] = {}
    seen: dict[str, list[float]] = {"p50": [], "p99": []}
    try:
        for number in range(options.rounds):
            for case, port in (("unsafe", 8942), ("ours", 8941), ("safe", 8942)):
                known = env | {"BENCH_VERSIONS": json.dumps(versions)}
                figures = _load(case, port, options.seconds, HTTP_CLIENTS, known)
                results.rounds.setdefault(f"http {case}", []).append(figures["rate"])
                if case == "ours":
                    versions = figures["versions"]
                    seen["p50"].append(figures["p50"])
                    seen["p99"].append(figures["p99"])
                print(f"  round {number + 1}  http {case:<23} {figures['rate']:>10.1f}", file=sys.stderr, flush=True)
    finally:
        for process in (ours, theirs):
            process.terminate()
            process.wait()
    return {name: sorted(figures)[len(figures) // 2] for name, figures in seen.items()}


def _serve(application: str, port: int, env: dict[str, str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "gunicorn", application, "-w", "2", "-b", f"127.0.0.1:{port}"]
    command += ["--keep-alive", "5", "--log-level", "error"]
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(200):
        try:
            urlopen(f"http://127.0.0.1:{port}/healthz", timeout=1).close()
        except OSError as error:
            if getattr(error, "code", None):  # any answer will do
                break
            time.sleep(0.1)
        else:
            break
    return process


def _load(case: str, port: int, seconds: float, count: int, env: dict[str, str]) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.bench.load", case, str(port), str(seconds), str(count)]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return figures


# ---- telling ---------------------------------------------------------------------------------------------


def _report(results: Results, latency: dict[str, float] | None) -> list[str]:
    lines = ["", *table(GOALS, results)]
    if latency is None:
        return lines
    spread = latency["p99"] / latency["p50"]
    verdict = "met" if spread <= 2.5 else "NOT MET"
    lines.append(
        f"4   p99 / p50 over HTTP, {HTTP_CLIENTS} clients{'':<28}{spread:>7.2f} x  "
        f"(goal at most 2.50: {verdict}; {latency['p50']:.1f} ms, {latency['p99']:.1f} ms)"
    )
    return lines


def held_against(few: Results, many: Results) -> list[str]:
    """One line per list: how long it takes among many, as a multiple of among few; and how many pages are served."""
    lines = []
    for name in few.rounds:
        ratio = few.median(name) / many.median(name)
        most = 1 / 0.9 if name == "page" else 1.2
        verdict = "met" if ratio <= most else "NOT MET"
        figures = f"{1000 / few.median(name):.2f} ms, {1000 / many.median(name):.2f} ms"
        lines.append(f"9   effects, {name:<48}{ratio:>7.2f} x  (goal at most {most:.2f}: {verdict}; {figures})")
    return lines


if __name__ == "__main__":
    main()
