"""`manage.py workflows`: check, store or list workflow definitions.

Every fault is one line with its place; nothing is stored unless every file is sound. Warnings refuse nothing.
"""

from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from console import command_line
from runs import catalog
from runs.errors import ClearanceError, DefinitionInvalid, Fault
from runs.loading import load_workflow


class Command(BaseCommand):
    help = "Check, store or list workflow definitions."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="check | apply | list")
        for verb, help in ("check", "name every fault"), ("apply", "store as new revisions, unless unchanged"):
            below = verbs.add_parser(verb, help=help)
            below.add_argument("files", nargs="+", type=Path, metavar="FILE")
            if verb == "apply":
                below.add_argument("--dry-run", action="store_true", help="say what would be stored, and store nothing")
        verbs.add_parser("list", help="the newest revision of every workflow")

    def handle(self, *_: Any, verb: str, files: Sequence[Path] = (), dry_run: bool = False, **__: Any) -> None:
        """Do what the verb says. Ends with 1 when a file has faults or cannot be read."""
        if verb == "list":
            self._list()
            return
        texts = self._sound_texts(files)
        for file, text in texts.items():
            if verb == "check":
                self.stdout.write(f"{file}: sound")
            else:
                self._apply(file, text, dry_run=dry_run)

    def _list(self) -> None:
        for workflow in catalog.list_workflows():
            name = f"{workflow.slug} revision {workflow.revision}"
            self.stdout.write(f"{name}  sha256:{workflow.sha256}  {workflow.title}")

    def _apply(self, file: Path, text: str, *, dry_run: bool) -> None:
        try:
            stored = catalog.plan_workflow(text) if dry_run else catalog.store_workflow(text, command_line.actor())
        except ClearanceError as refusal:
            raise CommandError(f"{file}: {refusal}") from refusal
        name = f"{stored.slug} revision {stored.revision}"
        if not stored.created:
            self.stdout.write(f"{file}: unchanged, {name} holds it")
        elif dry_run:
            self.stdout.write(f"{file}: would be stored as {name}")
        else:
            self.stdout.write(f"{file}: stored as {name}")

    def _sound_texts(self, files: Iterable[Path]) -> dict[Path, str]:
        """The text of every file; the command ends here when one of them has faults."""
        texts, fault_count = {}, 0
        for file in files:
            texts[file] = _read(file)
            try:
                self._report(file, "warning", load_workflow(texts[file]).warnings)
            except DefinitionInvalid as refusal:
                self._report(file, "fault", refusal.errors)
                fault_count += len(refusal.errors)
        if fault_count:
            raise CommandError(f"{fault_count} fault{'s' * (fault_count > 1)}; nothing was stored.")
        return texts

    def _report(self, file: Path, kind: str, found: Iterable[Fault]) -> None:
        for fault in found:
            place = fault.pointer or "the whole file"
            self.stderr.write(f"{file}: {kind}: {place}: {fault.detail} ({fault.code})")


def _read(file: Path) -> str:
    """The exact text of a file, whatever its line ends. Raises `CommandError`."""
    try:
        return file.read_bytes().decode()
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{file} is not written in UTF-8.") from error
