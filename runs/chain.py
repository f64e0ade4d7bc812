"""The hash chain of a run's ledger: how an entry is linked to the one before it.

Pure. `hash` is SHA-256 over the canonical JSON of the entry's head, in which the body stands by its own
hash; so a body can be erased later without breaking the chain.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from runs.digest import canonical, sha256_hex, tagged
from runs.values import NewEntry

JSON = Any

#: The predecessor of the first entry.
ORIGIN = "0" * 64


def rfc3339(at: datetime) -> str:
    """A time in UTC with microseconds, as hashed and as shown by the API."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@dataclass(frozen=True, slots=True)
class LinkedEntry:
    """A ledger entry with its place in the chain."""

    seq: int
    version: int
    kind: str
    actor: str
    command_id: str | None
    touched: tuple[str, ...]
    body: bytes
    body_sha256: str
    prev_hash: str
    hash: str


def entry_hash(run: str, head: Mapping[str, JSON]) -> str:
    """The hash of an entry of `run` from its head.

    The head holds seq, version, kind, actor, command_id, at, body_sha256 and prev_hash.
    """
    return sha256_hex(canonical({"run": run, **head}))


class Stored(Protocol):
    """An entry as it is stored: what its hash covers."""

    @property
    def seq(self) -> int: ...
    @property
    def version(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def actor(self) -> str: ...
    @property
    def command_id(self) -> str | None: ...
    @property
    def at(self) -> datetime: ...
    @property
    def body_sha256(self) -> str: ...
    @property
    def prev_hash(self) -> str: ...


def recomputed_hash(run: str, entry: Stored) -> str:
    """The hash that a stored entry of `run` must have."""
    head = {
        "seq": entry.seq,
        "version": entry.version,
        "kind": entry.kind,
        "actor": entry.actor,
        "command_id": entry.command_id,
        "at": rfc3339(entry.at),
        "body_sha256": entry.body_sha256,
        "prev_hash": entry.prev_hash,
    }
    return entry_hash(run, head)


def link(
    run: str, seq: int, prev_hash: str, entries: Iterable[tuple[NewEntry, str]], at: datetime
) -> Iterator[LinkedEntry]:
    """Chain new entries, each with its salt, after entry `seq` with hash `prev_hash`."""
    for entry, salt in entries:
        seq += 1
        body = canonical({**entry.body, "salt": salt})
        body_sha256 = tagged(body)
        head = {
            "seq": seq,
            "version": entry.version,
            "kind": entry.kind,
            "actor": entry.actor,
            "command_id": entry.command_id,
            "at": rfc3339(at),
            "body_sha256": body_sha256,
            "prev_hash": prev_hash,
        }
        linked = entry_hash(run, head)
        yield LinkedEntry(
            seq, entry.version, entry.kind, entry.actor, entry.command_id, entry.touched,
            body, body_sha256, prev_hash, linked,
        )  # fmt: skip
        prev_hash = linked
