"""One child process: how it is started, as whom, and how it is made to die with its parent."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from console.binaries import Account

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


@dataclass(frozen=True, slots=True)
class Program:
    """What to run: from which folder, as whom, with which input, and the signal that stops it in order."""

    name: str
    command: list[str]
    folder: Path
    account: Account | None = None
    stdin: str = ""
    stop_signal: signal.Signals = signal.SIGTERM


def spawn(program: Program, log: IO[bytes], *, keep: Sequence[int] = ()) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own, so that Ctrl-C reaches only the parent, which stops it in order.

    The descriptors in `keep` stay open in it and in whatever it starts.
    """
    parent = os.getpid()

    def die_with_parent() -> None:
        if _LIBC:
            _LIBC.prctl(_PR_SET_PDEATHSIG, program.stop_signal)
            if os.getppid() != parent:
                os.kill(os.getpid(), signal.SIGKILL)

    process = subprocess.Popen(
        program.command,
        cwd=program.folder,
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=log,
        pass_fds=keep,
        start_new_session=True,
        preexec_fn=die_with_parent,  # noqa: PLW1509 - every caller has one thread
        **as_account(program.account),
    )
    assert process.stdin
    with process.stdin as stdin:
        stdin.write(program.stdin.encode())
    return process


def kill_rest(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of a program's session, also when the program itself is gone."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def as_account(account: Account | None) -> dict[str, Any]:
    """Arguments of `subprocess` that run a program as this account."""
    if account is None:
        return {}
    return {"user": account.uid, "group": account.gid, "extra_groups": []}
