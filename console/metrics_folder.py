"""The folder through which the web processes of one server share their numbers, so that any of them answers for all."""

import atexit
import os
import re
import shutil
import tempfile
from pathlib import Path

#: Where `prometheus_client` looks when it is imported; so the folder must be announced before.
VARIABLE = "PROMETHEUS_MULTIPROC_DIR"

_PREFIX = "clearance-metrics-"


def announce() -> None:
    """Make the folder for this process and those it forks, unless one is given. It goes with its maker.

    A maker that was killed could not clear up; that is done for it here.
    """
    if os.environ.get(VARIABLE):
        return
    _remove_orphans()
    maker = os.getpid()
    folder = tempfile.mkdtemp(prefix=f"{_PREFIX}{maker}-")
    os.environ[VARIABLE] = folder

    @atexit.register
    def remove() -> None:
        if os.getpid() == maker:
            shutil.rmtree(folder, ignore_errors=True)


def _remove_orphans() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        made_by = re.fullmatch(rf"{_PREFIX}([0-9]+)-\w+", folder.name)
        if made_by and not _is_running(int(made_by[1])):
            shutil.rmtree(folder, ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # somebody else's
    return True
