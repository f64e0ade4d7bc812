"""Where settings come from, and that none is misspelt in silence."""

from pathlib import Path

import pytest

from console import environment
from console.environment import UnknownSetting


def test_an_unknown_variable_of_ours_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownSetting, match="CLEARANCE_SWEEP_SECOND is not .*nearest is CLEARANCE_SWEEP_SECONDS"):
        environment.refuse_unknown({"CLEARANCE_SWEEP_SECOND": "5", "PATH": "/bin"})


def test_an_unknown_variable_in_the_file_is_refused_as_well(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("CLEARANCE_PROT=8000\n")

    with pytest.raises(UnknownSetting, match="nearest is CLEARANCE_PORT"):
        environment.load({"CLEARANCE_HOME": str(tmp_path)}, tmp_path / ".env")


def test_what_is_set_wins_over_the_file_and_the_file_over_recorded_services(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("REDIS_URL=from-file\nSECRET_KEY=from-file\n")
    (tmp_path / "services.env").write_text("REDIS_URL=recorded\nDATABASE_URL=recorded\nSECRET_KEY=recorded\n")
    environ = {"CLEARANCE_HOME": str(tmp_path), "SECRET_KEY": "set"}

    environment.load(environ, tmp_path / ".env")

    assert environ["SECRET_KEY"] == "set"
    assert environ["REDIS_URL"] == "from-file"
    assert environ["DATABASE_URL"] == "recorded"


def test_what_is_set_to_nothing_keeps_the_file_out_and_is_absent(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("CLEARANCE_PORT=9000\n")
    environ = {"CLEARANCE_HOME": str(tmp_path), "CLEARANCE_PORT": ""}

    environment.load(environ, tmp_path / ".env")

    assert "CLEARANCE_PORT" not in environ


def test_a_named_database_is_never_mixed_with_the_owner_of_a_recorded_one(tmp_path: Path) -> None:
    (tmp_path / "services.env").write_text("DATABASE_URL=embedded\nDATABASE_OWNER_URL=owner-of-embedded\n")
    environ = {"CLEARANCE_HOME": str(tmp_path), "DATABASE_URL": "named"}

    environment.load(environ, tmp_path / ".env")

    assert environ["DATABASE_URL"] == "named"
    assert "DATABASE_OWNER_URL" not in environ


def test_production_knows_no_recorded_services(tmp_path: Path) -> None:
    (tmp_path / "services.env").write_text("DATABASE_URL=embedded\n")
    environ = {"CLEARANCE_HOME": str(tmp_path), "CLEARANCE_ENV": "production"}

    environment.load(environ, tmp_path / ".env")

    assert "DATABASE_URL" not in environ


def test_a_file_may_have_comments_blank_lines_quotes_and_exports() -> None:
    text = "# a remark\n\nexport A=1\nB = 'two words'\nC=\"x=y\"\nnonsense\n"

    assert environment.parse_env_file(text) == {"A": "1", "B": "two words", "C": "x=y"}


def test_the_page_of_settings_is_the_one_the_code_gives() -> None:
    page = (Path(environment.__file__).parent.parent / "docs" / "operations.md").read_text(encoding="utf-8")

    assert environment.as_markdown() in page


def test_the_example_file_names_every_setting() -> None:
    example = (Path(environment.__file__).parent.parent / ".env.example").read_text(encoding="utf-8")

    assert example == environment.as_example()
