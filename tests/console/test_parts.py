"""The probes of the parts: what cannot be asked is not ready, and asking never raises."""

import subprocess
import sys

from django.conf import settings

ASK = "import django; django.setup(); from console import parts; print(parts.worker_is_ready())"


def test_a_worker_is_not_ready_while_the_broker_cannot_be_reached(process_environment: dict[str, str]) -> None:
    environment = process_environment | {"REDIS_URL": "redis://127.0.0.1:1/0"}

    asked = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ASK],
        cwd=settings.BASE_DIR,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (asked.returncode, asked.stdout) == (0, "False\n"), asked.stderr
