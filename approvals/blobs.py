"""Bytes by their hash: in the database up to 1 MiB, beyond it in Django's file storage (local or S3-compatible).

Bytes are read and hashed before any transaction; inside one only hashes are compared. What is read is
hashed again before anybody relies on it.
"""

from collections.abc import Iterable

from django.core.files.base import ContentFile
from django.core.files.storage import storages

from approvals.errors import HashMismatch
from approvals.models import Content
from runs.digest import tagged
from runs.errors import NotFound
from runs.transactions import durable, fetch_row

#: Content up to this many bytes is kept in the database.
IN_DATABASE = 1024 * 1024

STORAGE = "artifacts"

_HOLD = "SELECT erased_at IS NOT NULL FROM approvals_content WHERE sha256 = %s FOR KEY SHARE"


def put_aside(body: bytes) -> str | None:
    """Put large content into file storage under its hash, before the transaction that names it.

    Returns the name in storage, or None when the content belongs in the database. Content that no
    transaction came to name is harmless: it is found again by its hash.
    """
    if len(body) <= IN_DATABASE:
        return None
    name = file_name(tagged(body))
    storage = storages[STORAGE]
    if not storage.exists(name):
        storage.save(name, ContentFile(body))
    return name


def file_name(sha256: str) -> str:
    """Where content of this hash lies in storage."""
    digest = sha256.removeprefix("sha256:")
    return f"{digest[:2]}/{digest}"


def keep(body: bytes, sha256: str, *, in_storage: bool) -> bool:
    """Name content in the database, in the transaction that needs it. The same content is kept once.

    Nobody erases it before the transaction ends. Returns whether it had been erased and is there again.
    """
    stored = None if in_storage else body
    row = Content(sha256=sha256, size=len(body), body=stored, in_storage=in_storage)
    Content.objects.bulk_create([row], ignore_conflicts=True)
    (was_erased,) = fetch_row(_HOLD, [sha256])
    if was_erased:
        Content.objects.filter(pk=sha256).update(body=stored, in_storage=in_storage, erased_at=None)
        put_aside(body)  # once more: the file may have been removed since
    return bool(was_erased)


def remove_erased_files() -> int:
    """Remove from file storage what was erased in the database. Returns how many files; again, it finds none."""
    waiting = Content.objects.filter(erased_at__isnull=False, in_storage=True).order_by("pk")
    return sum(_remove_file(sha256) for sha256 in waiting.values_list("pk", flat=True))


@durable
def _remove_file(sha256: str) -> bool:
    """Remove one file, unless its content was submitted again meanwhile. Locks: the content."""
    erased = Content.objects.select_for_update().filter(pk=sha256, erased_at__isnull=False, in_storage=True)
    if erased.first() is None:
        return False
    storages[STORAGE].delete(file_name(sha256))
    Content.objects.filter(pk=sha256).update(in_storage=False)
    return True


def read(sha256: str) -> bytes:
    """The content of this hash, hashed again. Raises `NotFound` when erased or missing, `HashMismatch` when altered."""
    row = Content.objects.filter(sha256=sha256).first()
    if row is None or row.erased_at is not None:
        raise NotFound("This content has been erased.", erased=True)
    body = _stored(file_name(sha256)) if row.in_storage else bytes(row.body or b"")
    if tagged(body) != sha256:
        raise HashMismatch("The stored content no longer has its hash.", expected=sha256, actual=tagged(body))
    return body


def altered(hashes: Iterable[str]) -> dict[str, str]:
    """Those of these contents that are not what their hash says any more, with what they hash to now; "" when gone."""
    found = {}
    for sha256 in hashes:
        try:
            read(sha256)
        except HashMismatch as mismatch:
            found[sha256] = mismatch.members["actual"]
        except NotFound:
            found[sha256] = ""
    return found


def _stored(name: str) -> bytes:
    try:
        with storages[STORAGE].open(name) as file:
            body: bytes = file.read()
    except FileNotFoundError as error:
        raise NotFound("This content is missing from file storage.") from error
    return body
