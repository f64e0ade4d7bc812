"""Backup and restore: what was put back is older than the world, and cannot send."""

import stat
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from outbox import quarantine
from outbox.dispatch import dispatch_due
from outbox.models import Effect
from runs.administration import By, set_halt
from runs.errors import Unavailable
from runs.models import AuthorityChange, Installation, LedgerEntry, Run
from tests import cast
from tests.review import refund_approved

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def own_home(settings, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]  # pytest-django's fixture has no type
    settings.CLEARANCE_HOME = tmp_path


def test_a_restored_installation_is_halted_under_a_new_epoch_and_sends_nothing(tmp_path: Path) -> None:
    refund_approved()
    quarantine.note_database()
    file = tmp_path / "backup.dump"
    call_command("backup", str(file))
    cast.run_received("R-8")

    call_command("restore", str(file), reason="the disk was lost")

    installation, effect = Installation.objects.get(), Effect.objects.get()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not Run.objects.filter(key="R-8").exists()
    assert (installation.ledger_epoch, installation.is_halted) == (2, True)
    assert (effect.state, effect.quarantined, effect.next_at) == ("pending", True, None)
    assert LedgerEntry.objects.order_by("seq").last().kind == "quarantine.set"  # type: ignore[union-attr]
    assert dispatch_due("worker-1") == 0
    assert (tmp_path / quarantine.EPOCH_FILE).read_text() == "2\n"
    assert AuthorityChange.objects.filter(epoch=installation.authority_epoch, kind="halt.on").exists()
    call_command("verify")


def test_a_restore_that_breaks_off_before_all_is_in_quarantine_is_noticed_when_the_halt_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refund_approved()
    quarantine.note_database()
    file = tmp_path / "backup.dump"
    call_command("backup", str(file))

    def broken_off(_: By) -> int:
        raise Unavailable

    with monkeypatch.context() as seams:
        seams.setattr(quarantine, "quarantine_all", broken_off)
        with pytest.raises((Unavailable, CommandError)):
            call_command("restore", str(file), reason="the disk was lost")
    set_halt(False, cast.SETUP)

    assert dispatch_due("worker-1") == 0
    assert Installation.objects.get().is_halted and Effect.objects.get().quarantined


def test_a_database_put_back_by_other_means_is_noticed_before_anything_is_claimed() -> None:
    refund_approved()
    quarantine.note(quarantine.EPOCH_FILE, "5")

    attempted = dispatch_due("worker-1")

    assert attempted == 0
    assert Installation.objects.get().is_halted
    assert Effect.objects.get().quarantined


def test_a_file_that_exists_is_not_written_over(tmp_path: Path) -> None:
    file = tmp_path / "backup.dump"
    file.write_text("precious")

    with pytest.raises(CommandError, match="exists already"):
        call_command("backup", str(file))

    assert file.read_text() == "precious"


def test_what_is_no_backup_changes_nothing(tmp_path: Path) -> None:
    cast.run_received("R-8")
    file = tmp_path / "backup.dump"
    file.write_text("this is no backup")

    with pytest.raises(CommandError, match="Nothing was restored"):
        call_command("restore", str(file), reason="a try")

    assert Run.objects.filter(key="R-8").exists()
    assert not Installation.objects.get().is_halted
