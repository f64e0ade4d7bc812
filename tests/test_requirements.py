"""The requirement sets are what pyproject.toml asks for."""

import importlib.metadata
import importlib.util
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
from packaging.utils import canonicalize_name

PROJECT = Path(__file__).resolve().parent.parent
FOLDER = PROJECT / "requirements"
SETS = ("runtime", "embedded", "dev", "bench")


def load_export() -> ModuleType:
    """The script that writes the sets."""
    spec = importlib.util.spec_from_file_location("export", FOLDER / "export.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pins(folder: Path, name: str) -> dict[str, str]:
    """Package to version and marker."""
    text = (folder / f"{name}.txt").read_text(encoding="utf-8")
    found = re.findall(r"^([\w.-]+)(?:\[[\w,-]+\])?==(\S+(?: ; [^\\]+)?)", text, re.M)
    return {package: pin.strip() for package, pin in found}


@pytest.mark.parametrize("name", SETS)
def test_a_set_was_written_from_the_declarations_of_today(name: str) -> None:
    declared = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()[1]

    assert declared == f"# declared: {load_export().declared_sha256()}", "run: make requirements"


def test_smaller_sets_have_the_pins_of_the_largest() -> None:
    runtime, embedded, dev, bench = (pins(FOLDER, name) for name in SETS)

    assert runtime.items() < embedded.items() < dev.items() < bench.items()


@pytest.mark.parametrize("name", SETS)
def test_every_package_is_pinned_with_hashes_and_no_address_is_written(name: str) -> None:
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    entries = re.split(r"\n(?=[a-z])", text)[1:]

    assert len(entries) == len(pins(FOLDER, name))
    assert all("--hash=sha256:" in entry for entry in entries)
    assert "://" not in text


def test_what_is_installed_here_is_what_the_largest_set_says() -> None:
    installed = {str(canonicalize_name(found.name)): found.version for found in importlib.metadata.distributions()}
    expected = pins(FOLDER, "dev")

    differing = {
        name: (version, installed[name])
        for name, version in expected.items()
        if name in installed and installed[name] != version.split(" ;")[0]
    }
    assert not differing


def test_a_fresh_export_changes_no_pin(tmp_path: Path) -> None:
    """Where the resolver is at hand and can reach its index; the recorded declarations are compared everywhere."""
    for name in SETS:
        shutil.copy(FOLDER / f"{name}.txt", tmp_path)
    before = {name: pins(tmp_path, name) for name in SETS}

    if shutil.which("uv"):
        export = load_export()
        try:
            export.export(tmp_path)
        except subprocess.CalledProcessError as failure:
            assert re.search("offline|connect|network|resolve host|dns|timed out", failure.stderr, re.I), failure.stderr

    assert {name: pins(tmp_path, name) for name in SETS} == before
