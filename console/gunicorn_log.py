"""Gunicorn's own lines, in the format of all the others."""

from gunicorn.config import Config
from gunicorn.glogging import Logger


class GunicornLog(Logger):  # type: ignore[misc] # gunicorn ships no types
    """Hands every line up to the root logger, which `console/logs.py` configures."""

    def setup(self, cfg: Config) -> None:
        super().setup(cfg)
        self.error_log.handlers.clear()
        self.error_log.propagate = True
