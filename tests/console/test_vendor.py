"""The vendored front-end files are the ones that were taken, and nothing else lies beside them."""

import base64
import hashlib
import json
import re
from pathlib import Path

import pytest

from console.context import THEMES

VENDOR = Path(__file__).resolve().parents[2] / "static" / "vendor"
LOCK = json.loads((VENDOR / "vendor.lock.json").read_text())
FILES = {name: sha384 for package in LOCK["packages"] for name, sha384 in package["files"].items()}
SKELETON = (VENDOR.parents[1] / "templates" / "skeleton.html").read_text()


def folder_of(package: dict[str, str]) -> str:
    return f"{package['name'].lstrip('@').replace('/', '-')}-{package['version']}"


@pytest.mark.parametrize("name", FILES)
def test_a_vendored_file_has_the_hash_that_was_written_down(name: str) -> None:
    digest = hashlib.sha384((VENDOR / name).read_bytes()).digest()

    assert FILES[name] == f"sha384-{base64.b64encode(digest).decode()}"


def test_every_vendored_file_is_written_down() -> None:
    lying = {str(file.relative_to(VENDOR)) for file in VENDOR.rglob("*") if file.is_file()}

    assert lying == {*FILES, "vendor.lock.json"}


@pytest.mark.parametrize("package", LOCK["packages"], ids=lambda package: package["name"])
def test_a_package_is_pinned_and_carries_its_licence(package: dict[str, str]) -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", package["version"])
    assert package["tarball"].startswith("sha512-")
    assert package["licence"]
    assert (VENDOR / folder_of(package) / "LICENSE").stat().st_size > 200


def test_htmx_is_the_version_that_the_house_rules_are_written_for() -> None:
    assert FILES["htmx.org-4.0.1/htmx.min.js"] == (
        "sha384-Qp9rdC8H7EqOoX+nR0P3RPG2Noji+qdwJlGpfzwQJsfOpp3sGwIdSP9xO3+UlEhn"
    )


def test_no_vendored_file_points_to_a_source_map() -> None:
    assert [name for name in FILES if b"sourceMappingURL" in (VENDOR / name).read_bytes()] == []


def test_pages_load_vendored_files_that_exist() -> None:
    loaded = re.findall(r"static 'vendor/([^']+)'", SKELETON)

    assert loaded
    assert [name for name in loaded if name not in FILES] == []


def test_every_theme_that_can_be_chosen_is_among_the_tokens() -> None:
    tokens = (VENDOR / "primer-primitives-11.10.0" / "tokens.css").read_text()
    named = set(re.findall(r':root\[data-theme="([\w-]+)"\]', tokens))

    assert named | {"light"} == set(THEMES)


def test_styles_use_only_tokens_that_were_cut_out() -> None:
    tokens = (VENDOR / "primer-primitives-11.10.0" / "tokens.css").read_text()
    styles = "".join(file.read_text() for file in sorted((VENDOR.parent / "css").glob("*.css")))
    declared = set(re.findall(r"^\s*(--[\w-]+):", tokens, re.MULTILINE)) | set(re.findall(r"(--[\w-]+):", styles))

    assert sorted(set(re.findall(r"var\((--[\w-]+)", styles)) - declared) == []


def test_templates_use_only_icons_that_are_in_the_sprite() -> None:
    sprite = (VENDOR / "lucide-static-1.62.0" / "sprite.svg").read_text()
    drawn = set(re.findall(r'<symbol id="([\w-]+)"', sprite))
    sources = [*(VENDOR.parents[1] / "templates").rglob("*.html"), *(VENDOR.parents[1] / "console").rglob("*.py")]
    used = set(re.findall(r'\{% icon "([\w-]+)"', "".join(source.read_text() for source in sources)))

    assert used - drawn == set()
