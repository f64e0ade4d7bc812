"""`manage.py workflows`: faults in lines with their places, all files or none, and nothing stored by a dry run."""

from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from runs import authority, catalog
from runs.models import WorkflowRevision

SHIPPED = Path(__file__).parents[2] / "runs/workflows"
REFUND, REPORT = SHIPPED / "refund.toml", SHIPPED / "report.toml"


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    """What another test stored and rolled back is not known here, nor the other way round."""
    yield
    catalog.forget()
    authority.forget()


def workflows(*words: str | Path) -> tuple[list[str], list[str]]:
    """What the command says on its two streams."""
    out, err = StringIO(), StringIO()
    call_command("workflows", *map(str, words), stdout=out, stderr=err)
    return out.getvalue().splitlines(), err.getvalue().splitlines()


def refused(*words: str | Path) -> tuple[str, list[str]]:
    """How the command refuses, and what it says of each fault."""
    err = StringIO()
    with pytest.raises(CommandError) as refusal:
        call_command("workflows", *map(str, words), stdout=StringIO(), stderr=err)
    assert refusal.value.returncode == 1
    return str(refusal.value), err.getvalue().splitlines()


def edited(folder: Path, *changes: tuple[str, str]) -> Path:
    """The refund definition with some of its texts replaced."""
    text = REFUND.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file = folder / "edited.toml"
    file.write_text(text, encoding="utf-8")
    return file


# ---- check -----------------------------------------------------------------------------------------------


def test_check_needs_no_database_and_says_which_files_are_sound() -> None:
    assert workflows("check", REFUND, REPORT) == ([f"{REFUND}: sound", f"{REPORT}: sound"], [])


def test_check_names_each_fault_in_one_line_with_its_place(tmp_path: Path) -> None:
    file = edited(tmp_path, ("quorum = 1", "quorum = 0"), ('reads = ["messages"]', 'reads = ["mesages"]'))

    summary, lines = refused("check", file, REPORT)

    assert summary == "2 faults; nothing was stored."
    assert lines == [
        f"{file}: fault: policy.quorum: At least 1 is needed. (too-small)",
        f"{file}: fault: commands.set-category.reads[0]: No field is called “mesages”. (unknown-field)",
    ]


def test_warnings_are_told_apart_and_refuse_nothing(tmp_path: Path) -> None:
    file = edited(tmp_path, ('set = { assigned_owner = "{assigned_owner}" }', ""))

    out, lines = workflows("check", file)

    assert out == [f"{file}: sound"]
    assert [line.removeprefix(f"{file}: warning: ").split(":")[0] for line in lines] == [
        "commands.assign.on_conflict[0].when_changed[0]",
        "commands.assign",
        "commands.assign.params.assigned_owner",
        "fields.assigned_owner",
    ]


def test_what_is_no_toml_is_named_by_line_and_column(tmp_path: Path) -> None:
    file = tmp_path / "broken.toml"
    file.write_text("slug = \n")

    _, lines = refused("check", file)

    assert [line.split(": ")[:3] for line in lines] == [[str(file), "fault", "line 1, column 8"]]


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes("title = 'é'".encode("latin-1"))

    assert refused("check", tmp_path / "absent.toml")[0].endswith(
        "absent.toml cannot be read: No such file or directory."
    )
    assert refused("check", tmp_path / "latin.toml")[0].endswith("latin.toml is not written in UTF-8.")


# ---- apply and list --------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_apply_stores_once_and_then_says_unchanged() -> None:
    assert workflows("apply", REFUND)[0] == [f"{REFUND}: stored as refund revision 1"]
    assert workflows("apply", REFUND)[0] == [f"{REFUND}: unchanged, refund revision 1 holds it"]
    assert WorkflowRevision.objects.get().stored_by.startswith("cli:")


@pytest.mark.django_db
def test_apply_keeps_the_exact_bytes(tmp_path: Path) -> None:
    file = tmp_path / "dos.toml"
    file.write_bytes(REFUND.read_bytes().replace(b"\n", b"\r\n"))

    workflows("apply", file)

    assert WorkflowRevision.objects.get().text.encode() == file.read_bytes()


@pytest.mark.django_db
def test_a_dry_run_says_what_would_be_stored_and_stores_nothing(tmp_path: Path) -> None:
    file = edited(tmp_path, ('title = "Customer refund"', 'title = "Refund"'))
    workflows("apply", REFUND)

    out, _ = workflows("apply", "--dry-run", REFUND, file)

    assert out == [f"{REFUND}: unchanged, refund revision 1 holds it", f"{file}: would be stored as refund revision 2"]
    assert WorkflowRevision.objects.count() == 1


@pytest.mark.django_db
def test_nothing_is_stored_unless_every_file_is_sound(tmp_path: Path) -> None:
    file = edited(tmp_path, ("quorum = 1", "quorum = 0"))

    summary, _ = refused("apply", REPORT, file)

    assert summary == "1 fault; nothing was stored."
    assert not WorkflowRevision.objects.exists()


@pytest.mark.django_db
def test_list_shows_the_newest_revision_of_each() -> None:
    assert workflows("list") == ([], [])

    workflows("apply", REPORT, REFUND)

    refund, report = catalog.latest("refund"), catalog.latest("report")
    assert workflows("list")[0] == [
        f"refund revision 1  sha256:{refund.sha256}  Customer refund",
        f"report revision 1  sha256:{report.sha256}  Customer report",
    ]
