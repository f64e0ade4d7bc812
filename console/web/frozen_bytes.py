"""The frozen bytes themselves: payload, manifest and artifacts on pages of their own, and as inert downloads."""

import structlog
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from approvals import blobs
from approvals.deciding import record_shown
from approvals.queries import artifacts_named
from console.access import access_snapshot
from console.api.artifacts import inert
from console.lookalikes import inspect_name
from console.rendering import render_screen
from console.web.gate import signed_in
from console.web.review_card import payload_of
from runs.errors import NotFound
from runs.values import Principal

log = structlog.get_logger(__name__)

#: So many bytes of an artifact are shown as text; all of them can be downloaded.
LARGEST_SHOWN = 256 * 1024


@require_GET
@signed_in
def payload(request: HttpRequest, principal: Principal, number: str) -> HttpResponse:
    """Every byte of the payload, on a page of its own. That it was shown is recorded."""
    review = access_snapshot(principal, number)
    shown = payload_of(review.row)
    if shown is None:
        raise NotFound("The payload has been erased; its hash stays.", erased=True)
    record_shown(principal.id, review.row.pk, review.row.manifest_sha256)
    context = {"review": review, "row": review.row, "run": review.run, "payload": shown}
    return render_screen(request, "snapshots/payload.html", context)


@require_GET
@signed_in
def manifest(request: HttpRequest, principal: Principal, number: str) -> HttpResponse:
    """The manifest, as canonical as it was frozen."""
    review = access_snapshot(principal, number)
    text = inspect_name(bytes(review.row.manifest).decode())
    context = {"review": review, "row": review.row, "run": review.run, "text": text}
    return render_screen(request, "snapshots/manifest.html", context)


@require_GET
@signed_in
def download(request: HttpRequest, principal: Principal, number: str, what: str) -> HttpResponse:
    """The exact bytes of `payload` or `manifest`, as an inert attachment. Every download is logged."""
    row = access_snapshot(principal, number).row
    body = {"payload": row.payload, "manifest": row.manifest}.get(what)
    if body is None:
        raise NotFound
    log.info("snapshot_downloaded", snapshot=row.pk, part=what, principal=principal.actor)
    return inert(bytes(body), f"{what}-v{row.run_version}-c{row.candidate}.json.bin")


@require_GET
@signed_in
def artifact(request: HttpRequest, principal: Principal, number: str, slot: str) -> HttpResponse:
    """A frozen artifact as text, whatever it says it is: nothing of it is interpreted."""
    review = access_snapshot(principal, number)
    named = next((item for item in review.manifest["artifacts"] if item["slot"] == slot), None)
    if named is None:
        raise NotFound
    body, row = blobs.read(named["sha256"]), artifacts_named(review.manifest).get(named["id"])
    if "download" in request.GET:
        log.info("artifact_downloaded", artifact=named["id"], principal=principal.actor, sha256=named["sha256"])
        return inert(body, f"{slot}-{named['input_version']}.bin")
    context = {
        "row": review.row,
        "run": review.run,
        "named": named,
        "body": body[:LARGEST_SHOWN],
        "left_out": max(0, len(body) - LARGEST_SHOWN),
        "author": row.author if row else "",
    }
    return render_screen(request, "snapshots/artifact.html", context)
