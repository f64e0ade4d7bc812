"""What every view of the API shares: who asks, the body as a shape, the version it expects.

A view of the API is a thin DRF view on `ApiView`, or a plain Django view that calls the same functions.
"""

from collections.abc import Callable, Collection
from typing import ClassVar, TypeVar, cast

from rest_framework.renderers import JSONRenderer
from rest_framework.views import APIView

from console.api.authentication import PrincipalAuthentication
from console.api.wire import AlwaysJSON, StrictJSONParser
from console.inputs import BODY_BYTES, check_idempotency_key, parse_if_match, read_body
from console.shapes import read_shape
from runs.errors import InvalidParams, WeakPrecondition
from runs.values import WEAK_BASE, Principal

S = TypeVar("S")


class ApiView(APIView):
    """The base of the API's DRF views."""

    authentication_classes = (PrincipalAuthentication,)
    permission_classes = ()
    parser_classes = (StrictJSONParser,)
    renderer_classes = (JSONRenderer,)
    content_negotiation_class = AlwaysJSON

    #: How large a body may be, and which of its members are meant to hold a secret.
    max_bytes: ClassVar[int] = BODY_BYTES
    may_hold_secrets: ClassVar[Collection[str]] = ()

    @property
    def principal(self) -> Principal:
        """Who asks."""
        return cast(Principal, self.request.user)

    def read(self, shape: type[S], *, allowed: Callable[[Principal], None] | None = None) -> S:
        """The body as a shape; its id, if it has one, agrees with the Idempotency-Key header.

        `allowed` raises for those who may not ask for it at all: they hear that before what is wrong with a value.
        """
        http = self.request._request
        given = read_body(http, max_bytes=self.max_bytes, may_hold_secrets=self.may_hold_secrets)
        try:
            body = read_shape(shape, given)
        except InvalidParams:
            if allowed is not None:
                allowed(self.principal)
            raise
        if (name := getattr(body, "id", None)) is not None:
            check_idempotency_key(http, name)
        return body

    def expected_version(self, epoch: int) -> int:
        """The version that If-Match names, in this ledger epoch."""
        return parse_if_match(self.request.META.get("HTTP_IF_MATCH"), epoch=epoch)

    def repeatable_version(self, epoch: int) -> int:
        """The same, and `WEAK_BASE` for a weak tag: a repeat is answered whatever its tag says."""
        try:
            return self.expected_version(epoch)
        except WeakPrecondition:
            return WEAK_BASE
