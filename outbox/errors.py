"""What effects refuse. Codes are stable; members name the fact that differs."""

from runs.errors import ClearanceError


class EffectInFlight(ClearanceError):
    """Something may have left already: find out what happened first."""

    code = "effect-in-flight"


class Quarantined(ClearanceError):
    """This is older than a restore: an admin releases it."""

    code = "quarantined"


class Moved(ClearanceError):
    """The effect moved meanwhile. Nothing was written."""

    code = "unavailable"


class TooEarly(ClearanceError):
    """A negative finding proves nothing yet: the provider may still be working on it."""

    code = "too-early"
