"""Quarantine: nothing stays outside because of one run that is held, and what is noted is noted whole."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from outbox import quarantine
from outbox.models import Effect
from outbox.quarantine import EPOCH_FILE, note, quarantine_all
from runs.errors import Unavailable
from runs.locks import hold_run
from tests import cast, review

pytestmark = pytest.mark.django_db


@pytest.fixture
def home(settings: Any, tmp_path: Path) -> Iterator[Path]:
    settings.CLEARANCE_HOME = tmp_path
    yield tmp_path


def test_a_run_that_somebody_holds_keeps_no_other_out_of_quarantine_and_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held, free = (review.refund_approved(key) for key in ("R-1", "R-2"))

    def hold(key: str) -> None:
        if key == "R-1":
            raise Unavailable
        hold_run(key)

    with monkeypatch.context() as seams:
        seams.setattr(quarantine, "hold_run", hold)
        with pytest.raises(Unavailable, match=held.pk):
            quarantine_all(cast.SETUP)

    assert set(Effect.objects.filter(quarantined=True).values_list("pk", flat=True)) == {free.pk}
    assert (quarantine_all(cast.SETUP), quarantine_all(cast.SETUP)) == (1, 0)


def test_whoever_reads_a_note_while_it_is_written_finds_the_old_one_whole(home: Path) -> None:
    note(EPOCH_FILE, "1")

    with (home / EPOCH_FILE).open(encoding="ascii") as reading:
        note(EPOCH_FILE, "2")
        assert reading.read() == "1\n"

    assert [file.name for file in home.iterdir()] == [EPOCH_FILE]
    assert (home / EPOCH_FILE).read_text(encoding="ascii") == "2\n"
