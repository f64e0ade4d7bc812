"""How entries are chained: recomputed here with nothing but `hashlib` and `json`, as an outsider would."""

import hashlib
import json
from datetime import UTC, datetime, timedelta, timezone

from runs.chain import ORIGIN, LinkedEntry, link, rfc3339
from runs.values import NewEntry

AT = datetime(2026, 3, 1, 12, 30, 15, 4200, tzinfo=UTC)
SALT = "5a" * 16


def created(**body: object) -> NewEntry:
    return NewEntry("run.created", "user:ada", "new-1", {"fields": {"tags": []}, **body}, 1)


def tagged_with(tag: str, version: int) -> NewEntry:
    body = {"changes": {"tags": {"added": [tag]}}}
    return NewEntry("command.committed", "agent:classifier", f"c-{version}", body, version, ("tags",))


def chain(*entries: NewEntry, salt: str = SALT, at: datetime = AT) -> list[LinkedEntry]:
    return list(link("R-42", 0, ORIGIN, [(entry, salt) for entry in entries], at))


def recomputed(entry: LinkedEntry) -> str:
    """The hash of an entry by the published rule."""
    head = {
        "run": "R-42",
        "seq": entry.seq,
        "version": entry.version,
        "kind": entry.kind,
        "actor": entry.actor,
        "command_id": entry.command_id,
        "at": "2026-03-01T12:30:15.004200Z",
        "body_sha256": "sha256:" + hashlib.sha256(entry.body).hexdigest(),
        "prev_hash": entry.prev_hash,
    }
    canonical = json.dumps(head, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def test_an_entry_has_the_hash_that_anybody_can_recompute() -> None:
    first, second = chain(created(), tagged_with("vip", 2))

    assert [entry.hash for entry in (first, second)] == [recomputed(first), recomputed(second)]


def test_the_hash_of_a_known_entry_never_changes() -> None:
    (entry,) = chain(created())

    assert entry.body == b'{"fields":{"tags":[]},"salt":"5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a"}'
    assert entry.hash == "5c3ea23497925b32baa5819dc6ea91fe0f2fe808bede31387bbd4bf231420929"


def test_entries_are_numbered_on_and_each_names_the_one_before() -> None:
    first, second, third = chain(created(), tagged_with("vip", 2), tagged_with("urgent", 3))

    assert [entry.seq for entry in (first, second, third)] == [1, 2, 3]
    assert [entry.prev_hash for entry in (first, second, third)] == ["0" * 64, first.hash, second.hash]


def test_a_chain_goes_on_from_any_head() -> None:
    first, second = chain(created(), tagged_with("vip", 2))

    (again,) = link("R-42", first.seq, first.hash, [(tagged_with("vip", 2), SALT)], AT)

    assert again == second


def test_the_same_content_has_another_hash_under_another_salt() -> None:
    (one,), (other,) = chain(created()), chain(created(), salt="00" * 16)

    assert one.body_sha256 != other.body_sha256
    assert one.hash != other.hash


def test_the_hash_covers_the_body_by_its_hash_alone() -> None:
    """So a body can be erased later, and the chain still holds."""
    (one,) = chain(created())
    (other,) = chain(created(reason="another"))

    assert one.hash != other.hash
    assert recomputed(one) == one.hash


def test_a_time_is_written_in_utc_with_microseconds() -> None:
    berlin = AT.astimezone(timezone(timedelta(hours=1)))

    assert rfc3339(berlin) == rfc3339(AT) == "2026-03-01T12:30:15.004200Z"
    assert rfc3339(AT.replace(microsecond=0)) == "2026-03-01T12:30:15.000000Z"
