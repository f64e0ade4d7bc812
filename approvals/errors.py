"""What artifacts, snapshots and decisions refuse. Codes are stable; members name the fact that differs."""

from runs.errors import ClearanceError, InputError


class HashMismatch(InputError):
    """The content does not have the hash that was sent with it."""

    code = "hash-mismatch"


class PayloadIncomplete(InputError):
    """The payload cannot be rendered: something it shows is not set."""

    code = "payload-incomplete"


class DestinationUnknown(InputError):
    """No destination of this name is registered."""

    code = "destination-unknown"


class InputOutdated(ClearanceError):
    """An artifact was made from inputs that have changed since."""

    code = "input-outdated"


class NotShown(ClearanceError):
    """You have not been shown this snapshot: fetch it first. A decision counts only for what was seen."""

    code = "not-shown"


class SnapshotNotActive(ClearanceError):
    """This snapshot is not the one under review."""

    code = "snapshot-not-active"


class ManifestMismatch(ClearanceError):
    """The hash is not that of this snapshot's manifest."""

    code = "manifest-mismatch"


class FactsChanged(ClearanceError):
    """A fact of consent no longer has the value that was frozen."""

    code = "facts-changed"


class DestinationChanged(ClearanceError):
    """The destination is no longer the revision that was frozen."""

    code = "destination-changed"


class AuthorityChanged(ClearanceError):
    """Authority over this workflow changed since this was shown: look again."""

    code = "authority-changed"


class ApprovalMissing(ClearanceError):
    """Not enough approvals of this snapshot count."""

    code = "approval-missing"


class ApprovalExpired(ClearanceError):
    """An approval that is needed has expired."""

    code = "approval-expired"


class ApprovalRevoked(ClearanceError):
    """An approval was revoked."""

    code = "approval-revoked"
