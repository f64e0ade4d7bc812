"""Adapters by name. Adding one is one module in this folder, one line here, and what it can do beside the others."""

from outbox.providers.base import Adapter
from outbox.providers.http import HttpAdapter
from outbox.providers.sandbox import SandboxAdapter
from outbox.providers.smtp import SmtpAdapter

ADAPTERS: dict[str, Adapter] = {adapter.name: adapter for adapter in (HttpAdapter(), SandboxAdapter(), SmtpAdapter())}
