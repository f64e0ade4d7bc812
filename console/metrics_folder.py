"""The folder through which the web processes of one server share their numbers, so that any of them answers for all."""

import atexit
import os
import shutil
import tempfile

#: Where `prometheus_client` looks when it is imported; so the folder must be announced before.
VARIABLE = "PROMETHEUS_MULTIPROC_DIR"


def announce() -> None:
    """Make the folder for this process and those it forks, unless one is given. It goes with its maker."""
    if os.environ.get(VARIABLE):
        return
    folder, maker = tempfile.mkdtemp(prefix="clearance-metrics-"), os.getpid()
    os.environ[VARIABLE] = folder

    @atexit.register
    def remove() -> None:
        if os.getpid() == maker:
            shutil.rmtree(folder, ignore_errors=True)
