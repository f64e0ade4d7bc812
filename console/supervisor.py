"""Runs the parts of an installation as child processes."""

import ctypes
import os
import signal
import subprocess
import sys
from typing import IO

from console.embedded import Service, as_account

_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
_PR_SET_PDEATHSIG = 1


def spawn(service: Service, *, log: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a program in its own session, so that Ctrl-C reaches the supervisor alone, and dies with it."""
    parent = os.getpid()

    def follow_parent() -> None:
        if _LIBC:
            _LIBC.prctl(_PR_SET_PDEATHSIG, service.stop_signal)
            if os.getppid() != parent:
                os.kill(os.getpid(), signal.SIGKILL)

    process = subprocess.Popen(
        service.command,
        cwd=service.folder,
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=log,
        start_new_session=True,
        preexec_fn=follow_parent,  # noqa: PLW1509 - the supervisor has one thread
        **as_account(service.account),
    )
    with process.stdin:
        process.stdin.write(service.stdin.encode())
    return process
