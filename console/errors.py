"""Refusals that only HTTP knows. Everything else that is refused has its error where its rule lives."""

from runs.errors import ClearanceError


class MethodNotAllowed(ClearanceError):
    """This address does not take that method; the Allow header names those it takes."""

    code = "method-not-allowed"


class FormExpired(ClearanceError):
    """This form is older than your sign-in, or you signed out in another tab. Nothing was done."""

    code = "form-expired"


class Unexpected(ClearanceError):
    """Something went wrong here. Whoever runs this installation finds it in the log by the correlation id."""

    code = "unexpected"
