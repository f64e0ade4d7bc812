"""Brings third-party front-end files into `static/vendor/` and writes down what they are.

For maintainers only: users and CI never run npm. Each package is taken at an exact version with `npm pack`,
its tarball is compared with the registry's integrity value, and only the listed files are kept. The lock file
beside them holds the hash of every file, which a test computes again without a network.

    python tools/vendor.py            # fetch everything again
    python tools/vendor.py --offline DIR    # the same from tarballs in DIR
"""

import argparse
import base64
import hashlib
import json
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from vendored_icons import ICONS
from vendored_tokens import AUTOMATIC, THEMES, TOKENS

VENDOR = Path(__file__).resolve().parent.parent / "static" / "vendor"
LOCK = VENDOR / "vendor.lock.json"

#: Reads a file of the package by its path.
Read = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Package:
    """One npm package: its exact version, and how each file that is kept comes out of it."""

    name: str
    version: str
    licence: str
    files: dict[str, Callable[[Read], str]]

    @property
    def folder(self) -> str:
        return f"{self.name.lstrip('@').replace('/', '-')}-{self.version}"

    @property
    def tarball(self) -> str:
        return f"{self.folder}.tgz"


def copied(path: str) -> Callable[[Read], str]:
    """The file as it is, without a pointer to a source map that is not shipped."""
    return lambda read: re.sub(r"\n?//# sourceMappingURL=\S+\s*$", "\n", read(path))


def sprite(read: Read) -> str:
    """All icons as symbols of one file, drawn in the colour of the text around them."""
    symbols = "\n".join(symbol(name, read(f"icons/{name}.svg")) for name in ICONS)
    return f'<svg xmlns="http://www.w3.org/2000/svg">\n{symbols}\n</svg>\n'


def symbol(name: str, svg: str) -> str:
    found = re.search(r"<svg[^>]*>(.*)</svg>", svg, re.DOTALL)
    if found is None:
        raise SystemExit(f"{name}: not an icon")
    shapes = re.sub(r"\s*\n\s*", "", found[1])
    stroke = 'fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"'
    return f'<symbol id="{name}" viewBox="0 0 24 24" {stroke}>{shapes}</symbol>'


def tokens(read: Read) -> str:
    """The tokens in use, of every theme; beyond the first theme only what differs from it."""
    themes = {theme: resolved(read(f"dist/css/functional/themes/{theme}.css")) for theme in THEMES}
    base = themes[THEMES[0]]
    blocks = [block(":root", THEMES[0], base)]
    for theme in THEMES[1:]:
        own = {token: value for token, value in themes[theme].items() if value != base[token]}
        blocks.append(block(f':root[data-theme="{theme}"]', theme, own))
        if theme in AUTOMATIC:
            chosen_by_browser = block(':root[data-theme="auto"]', theme, own)
            blocks.append(f"@media {AUTOMATIC[theme]} {{\n{chosen_by_browser}\n}}")
    note = "/* Cut from @primer/primitives by tools/vendor.py. MIT licence, see LICENSE beside this file. */"
    return f"{note}\n@layer tokens {{\n" + "\n".join(blocks) + "\n}\n"


def block(selector: str, theme: str, values: dict[str, str]) -> str:
    scheme = "dark" if theme.startswith("dark") else "light"
    lines = "".join(f"\n--{token}: {value};" for token, value in values.items())
    return f"{selector} {{\ncolor-scheme: {scheme};{lines}\n}}"


def resolved(css: str) -> dict[str, str]:
    """The wanted tokens of a theme with every reference to another token followed to its value."""
    first_theme = css.partition("@media")[0]
    declared = dict(re.findall(r"^\s*--([\w-]+): ([^;]+);", first_theme, re.MULTILINE))

    def follow(value: str) -> str:
        return re.sub(r"var\(--([\w-]+)\)", lambda reference: follow(declared[reference[1]]), value)

    return {token: follow(declared[token]) for token in TOKENS}


PACKAGES = (
    Package(
        "htmx.org",
        "4.0.1",
        "0BSD",
        {
            "htmx.min.js": copied("dist/htmx.min.js"),
            "hx-ptag.min.js": copied("dist/ext/hx-ptag.min.js"),
            "hx-preload.min.js": copied("dist/ext/hx-preload.min.js"),
            "LICENSE": copied("LICENSE"),
        },
    ),
    Package(
        "@github/hotkey",
        "3.1.4",
        "MIT",
        {"hotkey.js": copied("dist/index.js"), "LICENSE": copied("LICENSE")},
    ),
    Package(
        "lucide-static",
        "1.62.0",
        "ISC",
        {"sprite.svg": sprite, "LICENSE": copied("LICENSE")},
    ),
    Package(
        "@primer/primitives",
        "11.10.0",
        "MIT",
        {"tokens.css": tokens, "LICENSE": copied("LICENSE")},
    ),
)


def packed(package: Package, folder: Path) -> bytes:
    """The tarball from the registry, refused when it is not what the registry says it is."""
    command = ["npm", "pack", "--json", f"{package.name}@{package.version}"]
    answer = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    promised = json.loads(answer.stdout)[0]["integrity"]
    content = (folder / package.tarball).read_bytes()
    if promised != integrity("sha512", content):
        raise SystemExit(f"{package.name}: the tarball is not the one the registry promises")
    return content


def integrity(algorithm: str, content: bytes) -> str:
    return f"{algorithm}-{base64.b64encode(hashlib.new(algorithm, content).digest()).decode()}"


def write(package: Package, tarball: Path) -> dict[str, object]:
    """Keep the listed files of one package; what the lock file says about them."""
    with tarfile.open(tarball) as archive:

        def read(path: str) -> str:
            member = archive.extractfile(f"package/{path}")
            if member is None:
                raise SystemExit(f"{package.name}: no file {path}")
            return member.read().decode()

        made = {name: make(read) for name, make in package.files.items()}
    folder = VENDOR / package.folder
    folder.mkdir(parents=True)
    for name, text in made.items():
        (folder / name).write_text(text)
    return {
        "name": package.name,
        "version": package.version,
        "licence": package.licence,
        "tarball": integrity("sha512", tarball.read_bytes()),
        "files": {f"{package.folder}/{name}": integrity("sha384", text.encode()) for name, text in made.items()},
    }


def main(arguments: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--offline", type=Path, metavar="DIR", help="take the tarballs from here, not from npm")
    offline = parser.parse_args(arguments).offline
    with tempfile.TemporaryDirectory() as scratch:
        folder = offline or Path(scratch)
        if not offline:
            for package in PACKAGES:
                packed(package, folder)
        shutil.rmtree(VENDOR, ignore_errors=True)
        locked = [write(package, folder / package.tarball) for package in PACKAGES]
    LOCK.write_text(json.dumps({"packages": locked}, indent=2) + "\n")


if __name__ == "__main__":
    main()
