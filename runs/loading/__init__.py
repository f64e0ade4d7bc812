"""Workflow definitions: from TOML text to frozen values, with every fault named with its place.

Pure. The modules of this package each answer one question; `load_workflow` asks them all.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runs.definitions import Workflow
from runs.digest import sha256_hex
from runs.errors import DefinitionInvalid, Fault
from runs.loading import forms
from runs.loading.actions import read_actions, read_slots
from runs.loading.commands import read_commands
from runs.loading.doubts import doubt
from runs.loading.faults import FaultCode, Findings
from runs.loading.fields import Fields, read_fields
from runs.loading.policy import read_create, read_policy
from runs.loading.soundness import check
from runs.loading.tables import Table
from runs.states import RunStatus


@dataclass(frozen=True, slots=True)
class Loaded:
    """A valid definition, and what in it is probably not meant."""

    workflow: Workflow
    warnings: tuple[Fault, ...]


def load_workflow(text: str) -> Loaded:
    """The workflow that a TOML text defines.

    Raises `DefinitionInvalid` with every fault and its place, such as `commands.assign.on_conflict[0].to`.
    """
    findings = Findings()
    document = _parse(text, findings)
    workflow = _read(Table(document, "", findings), sha256_hex(text.encode()))
    if document is not None:
        check(workflow, findings)
    if findings.faults:
        raise DefinitionInvalid(errors=findings.faults)
    doubt(workflow, findings)
    return Loaded(workflow, tuple(findings.warnings))


def _parse(text: str, findings: Findings) -> Mapping[str, Any] | None:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        where = re.search(r"line \d+, column \d+", str(error))
        findings.refuse(where[0] if where else "", FaultCode.SYNTAX, f"This is no TOML: {error}.")
        return None


def _read(table: Table, sha256: str) -> Workflow:
    slug = table.text("slug", forms.NAME)
    declared = read_fields(table.table("fields"), slug)
    fields = Fields(declared, table.findings)
    slots = read_slots(table.table("slots"))
    workflow = Workflow(
        slug=slug,
        title=table.text("title", forms.TITLE),
        labels=_read_labels(table.table("labels")),
        policy=read_policy(table.table("policy", required=True), fields),
        create=read_create(table.table("create", required=True), fields),
        fields=declared,
        slots=slots,
        commands=read_commands(table.table("commands"), fields, slug),
        actions=read_actions(table.table("actions"), fields, slots),
        sha256=sha256,
    )
    table.close()
    return workflow


def _read_labels(table: Table) -> Mapping[str, str]:
    for name in table.names():
        if name not in set(RunStatus):
            table.refuse(name, FaultCode.UNKNOWN_STATUS, f"“{name}” is none of {', '.join(RunStatus)}.")
    return {name: table.text(name, forms.TITLE) for name in table.names()}
