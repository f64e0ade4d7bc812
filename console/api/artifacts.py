"""`/runs/{key}/artifacts/` and `/artifacts/{artifact}/`: the immutable outputs of workers."""

import base64
import binascii
from dataclasses import dataclass
from typing import Annotated, ClassVar

import structlog
from django.http import HttpResponse
from rest_framework.request import Request

from approvals import artifacts, blobs
from approvals.models import Artifact
from console.access import access_artifact, access_run
from console.answers import answer
from console.api.base import ApiView
from console.api.openapi import documented, ref
from console.rules import Items, Text
from console.shapes import Evidence, Id, Name, Reason, Sha256, Version
from runs.chain import rfc3339
from runs.errors import Fault, InvalidParams, SecretInBody
from runs.secrets import secret_shape
from runs.values import JSON

log = structlog.get_logger(__name__)

ARTIFACT_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Content:
    """A text of any length, empty or not, taken as it is."""

    def read(self, value: JSON, at: str) -> str:
        if not isinstance(value, str):
            raise InvalidParams(errors=[Fault(at, "type", "This must be a text.")])
        return value

    def schema(self) -> dict[str, JSON]:
        return {"type": "string"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewArtifact:
    """The output of a worker for its slot; its content as text or in base64."""

    id: Id
    slot: Name
    input_version: Version
    media_type: Name
    content: Annotated[str | None, Content()] = None
    content_base64: Annotated[str | None, Content()] = None
    sha256: Sha256
    sources: Annotated[tuple[str, ...], Items(Text(2000), 200)] = ()
    reason: Reason | None = None
    evidence: Evidence = ()

    def submission(self) -> artifacts.Submission:
        return artifacts.Submission(
            id=self.id,
            slot=self.slot,
            input_version=self.input_version,
            media_type=self.media_type,
            content=self._bytes(),
            sha256=self.sha256,
            sources=self.sources,
            reason=self.reason or "",
            evidence=self.evidence,
        )

    def _bytes(self) -> bytes:
        if (self.content is None) == (self.content_base64 is None):
            words = "Give the content once: as content or as content_base64."
            raise InvalidParams(words, errors=[Fault("/content", "one-of", words)])
        if self.content is not None:
            return self.content.encode()
        try:
            body = base64.b64decode(self.content_base64 or "", validate=True)
        except (binascii.Error, ValueError) as error:
            fault = Fault("/content_base64", "form", "This is no base64.")
            raise InvalidParams(fault.detail, errors=[fault]) from error
        if shape := secret_shape(body.decode("latin-1")):
            raise SecretInBody(errors=[Fault("/content_base64", "secret", f"This holds {shape}.")])
        return body


def tell(row: Artifact) -> dict[str, JSON]:
    """An artifact without its content."""
    return {
        "artifact": row.pk,
        "run": row.run.key,
        "slot": row.slot,
        "input_version": row.input_version,
        "media_type": row.media_type,
        "sha256": row.content_id,
        "bytes": row.content.size,
        "author": row.author,
        "sources": row.sources,
        "created_at": rfc3339(row.at),
    }


class ArtifactsView(ApiView):
    """The artifacts of a run."""

    max_bytes: ClassVar[int] = ARTIFACT_BYTES

    @documented("artifacts", body=NewArtifact, answers={201: ref("Artifact"), 200: ref("Artifact")})
    def post(self, request: Request, key: str) -> HttpResponse:
        """Submit the output of a worker; the same bytes for the same slot and inputs are the same artifact."""
        access_run(self.principal, key)
        submitted = artifacts.submit_artifact(self.principal, key, self.read(NewArtifact).submission())
        status = 200 if submitted.is_replay else 201
        return answer(tell(submitted.artifact), status=status, replayed=submitted.is_replay)


class ArtifactView(ApiView):
    """One artifact."""

    @documented("artifacts", answers={200: ref("Artifact")})
    def get(self, request: Request, artifact: str) -> HttpResponse:
        """What an artifact is: its slot, its inputs, its hash and its sources."""
        return answer(tell(access_artifact(self.principal, artifact)))


class ArtifactContentView(ApiView):
    """The content of an artifact."""

    @documented("artifacts", answers={200: None})
    def get(self, request: Request, artifact: str) -> HttpResponse:
        """The exact bytes, as an inert attachment. Every download is logged."""
        row = access_artifact(self.principal, artifact)
        body = blobs.read(row.content_id)
        log.info("artifact_downloaded", artifact=row.pk, principal=self.principal.actor, sha256=row.content_id)
        return inert(body, f"{row.slot}-{row.input_version}.bin")


def inert(body: bytes, name: str) -> HttpResponse:
    """Bytes that no browser interprets: an attachment of no particular type."""
    headers = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "Cache-Control": "no-store",
    }
    return HttpResponse(body, content_type="application/octet-stream", headers=headers)
