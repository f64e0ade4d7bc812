#!/usr/bin/env python3
"""Write the requirement sets from pyproject.toml: every version pinned, every file named by its hash.

`requirements/export.py` keeps the pins that still fit and adds or drops what the declarations ask for;
`--upgrade` takes the newest of everything. Needs `uv`. No address of a registry is written: where packages
come from is the installer's affair, what they are is settled here.
"""

import hashlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent

#: From the largest set to the smallest; the smaller ones take their pins from the first.
SETS = {
    "bench": ("--extra", "embedded", "--group", "bench"),
    "dev": ("--extra", "embedded", "--group", "dev"),
    "embedded": ("--extra", "embedded"),
    "runtime": (),
}
LARGEST = next(iter(SETS))


def declared_sha256() -> str:
    """A hash over everything pyproject.toml says about what is needed."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    needs = [
        project["project"]["requires-python"],
        project["project"]["dependencies"],
        project["project"]["optional-dependencies"],
        project["dependency-groups"],
    ]
    return hashlib.sha256(json.dumps(needs).encode()).hexdigest()


def export(folder: Path, *options: str) -> None:
    """Write all sets into a folder, keeping the pins of those that lie there. Raises `CalledProcessError`."""
    for name, extras in SETS.items():
        file = folder / f"{name}.txt"
        command = ["uv", "pip", "compile", "pyproject.toml", "--universal", "--python-version", "3.11", "--quiet"]
        command += ["--generate-hashes", "--no-header", "--no-annotate", "--output-file", str(file)]
        command += [*extras, *options]
        command += [] if name == LARGEST else ["--constraints", str(folder / f"{LARGEST}.txt")]
        subprocess.run(command, cwd=PROJECT, check=True, capture_output=True, text=True)
        header = f"# The {name} set, written by requirements/export.py.\n# declared: {declared_sha256()}\n"
        file.write_text(header + file.read_text(encoding="utf-8"), encoding="utf-8")


if __name__ == "__main__":
    try:
        export(PROJECT / "requirements", *sys.argv[1:])
    except subprocess.CalledProcessError as failure:
        sys.exit(failure.stderr)
