"""Adapters by name. Adding one is one module in this folder and one line here."""

from outbox.providers.base import Adapter

ADAPTERS: dict[str, Adapter] = {}
