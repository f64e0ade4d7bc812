"""One run read from its first entry to its last: every link recomputed, every change folded, and the run compared.

Computes from rows that were fetched; what is yielded names fields and versions and never content.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from runs import catalog
from runs.attempts import request_sha256
from runs.chain import ORIGIN, recomputed_hash
from runs.definitions import RESERVED_NAMES, Workflow
from runs.digest import canonical, tagged
from runs.errors import ClearanceError
from runs.states import RunStatus
from runs.transitions import is_legal_step
from runs.verify.checks import Violation
from runs.verify.fold import Fold

JSON = Any
Finding = tuple[str, str]  # the rule that is broken, and how

#: What must be equal for a repeat to be the same request; the entry of a command holds it.
_IDENTITY = ("name", "params", "reason", "evidence", "intent", "branch", "on_behalf_of")
#: Kinds of entries that commit a command as it was computed.
_COMMITTED = frozenset({"command.committed", "run.cancelled", "run.expired", "run.reopened", "run.moved"})


class RunRow(NamedTuple):
    """A run as it is stored."""

    id: int
    key: str
    workflow: str
    revision: int
    status: str
    version: int
    input_version: int
    head_seq: int
    head_hash: str
    fields: str
    active_snapshot: str | None


class EntryRow(NamedTuple):
    """An entry as it is stored, with the hash of the request that its command is recorded for."""

    run_id: int
    seq: int
    version: int
    kind: str
    actor: str
    command_id: str | None
    at: datetime
    touched: list[str]
    body: bytes | None
    body_sha256: str
    prev_hash: str
    hash: str
    request_sha256: str | None


class Reading:
    """How far a run has been read, and what its ledger made of it so far."""

    def __init__(self, run: RunRow, tally: Counter[str]) -> None:
        self.run = run
        self.tally = tally
        self.fold = Fold()
        self.seq, self.version, self.hash = 0, 0, ORIGIN
        self.workflow: Workflow | None = None  # as of the last entry; None once it cannot be told
        self.input_version: int | None = 1

    def read(self, entries: Iterable[EntryRow]) -> Iterator[Violation]:
        """Everything that is wrong with the entries, and with the run as compared with them."""
        for entry in entries:
            self.tally["entries"] += 1
            for rule, detail in (*self._check_place(entry), *self._check_content(entry)):
                yield Violation(rule, f"{self.run.key} entry {entry.seq}", detail)
            self.seq, self.version, self.hash = entry.seq, entry.version, entry.hash
        for rule, detail in self._check_run():
            yield Violation(rule, self.run.key, detail)

    # ---- the place of an entry -------------------------------------------------------------------------------

    def _check_place(self, entry: EntryRow) -> Iterator[Finding]:
        if entry.seq != self.seq + 1:
            yield "ledger-gapless", f"It follows entry {self.seq}."
        if entry.seq > self.run.head_seq:
            yield "ledger-gapless", f"It is ahead of the run, which stands on entry {self.run.head_seq}."
        if entry.prev_hash != self.hash:
            yield "ledger-chained", "It does not name the hash of the entry before it."
        if recomputed_hash(self.run.key, entry) != entry.hash:
            yield "ledger-chained", "Its hash is not that of what it says."
        if entry.version != self.version + (entry.seq == 1 or bool(entry.touched)):
            yield (
                "ledger-version",
                f"Version {entry.version} follows {self.version}, touching {len(entry.touched)} names.",
            )

    # ---- the content of an entry -----------------------------------------------------------------------------

    def _check_content(self, entry: EntryRow) -> Iterator[Finding]:
        if entry.body is None:
            self.tally["erased bodies"] += 1
            self._pass_over(entry.touched)
        elif tagged(entry.body) != entry.body_sha256:
            yield "ledger-body", "Its body is not the one that was hashed."
            self._pass_over(entry.touched)
        else:
            try:
                yield from self._check_told(entry, json.loads(entry.body))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                yield "fold", f"Its body cannot be understood: {type(error).__name__}."
                self._pass_over(entry.touched)

    def _pass_over(self, touched: Iterable[str]) -> None:
        """Go on without knowing what an entry made of the names it touched."""
        names = set(touched)
        self.fold.forget(names)
        if self.seq == 0 or "revision" in names:
            self.workflow = None
        if self.workflow is None or names & self.workflow.material:
            self.input_version = None

    def _check_told(self, entry: EntryRow, body: Mapping[str, JSON]) -> Iterator[Finding]:
        changes = body.get("changes") or {}
        if set(entry.touched) != changes.keys():
            yield "ledger-touched", f"It lists {sorted(entry.touched)} and tells of {sorted(changes)}."
        if entry.kind in _COMMITTED and body["base_version"] != entry.version - 1:
            yield "lost-update", f"It was computed from version {body['base_version']} and made {entry.version}."
        if entry.kind.startswith("command.") and _request_of(body) != entry.request_sha256:
            yield "request", f"{entry.command_id} of {entry.actor} is not recorded for the request that this tells."
        for name in self.fold.contradictions(changes):
            yield "lost-update", f"It changes {name} from what it was not."
        status = changes.get("status")
        if status and not is_legal_step(RunStatus(status["from"]), RunStatus(status["to"])):
            yield "status-step", f"{status['from']} may not become {status['to']}."
        if entry.seq == 1:
            self._begin(body)
        self._fold(entry.version, changes)

    def _begin(self, body: Mapping[str, JSON]) -> None:
        self.fold.begin(body["fields"], body["revision"])
        self.workflow = _definition(self.run.workflow, body["revision"])

    def _fold(self, version: int, changes: Mapping[str, JSON]) -> None:
        if self.workflow and self.workflow.material & changes.keys():
            self.input_version = version
        self.fold.apply(changes)
        if "revision" in changes:
            self.workflow = _definition(self.run.workflow, changes["revision"]["to"])
            if self.workflow:
                self.fold.keep_only(self.workflow.fields.keys() | RESERVED_NAMES)

    # ---- the run itself --------------------------------------------------------------------------------------

    def _check_run(self) -> Iterator[Finding]:
        run = self.run
        if (run.head_seq, run.version, run.head_hash) != (self.seq, self.version, self.hash):
            yield "head", f"It is at version {run.version} on entry {run.head_seq}; its last entry is {self.seq}."
        fields = json.loads(run.fields)
        told = {"status": run.status, "active_snapshot": run.active_snapshot, "revision": run.revision}
        if names := self.fold.differences(fields | told):
            yield "fold", f"The ledger tells another {', '.join(names)}."
        if self.input_version not in (None, run.input_version):
            yield "fold", f"Its input version is {run.input_version}; the ledger tells {self.input_version}."
        if canonical(fields).decode() != run.fields:
            yield "fold", "Its fields are not stored in canonical form."


def _request_of(body: Mapping[str, JSON]) -> str:
    return request_sha256({name: body[name] for name in _IDENTITY})


def _definition(slug: str, revision: int) -> Workflow | None:
    """A stored revision; None where there is no such one, which a check of its own tells."""
    try:
        return catalog.definition(slug, revision)
    except ClearanceError:
        return None
