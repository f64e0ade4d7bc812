"""The `sandbox` adapter: the sandbox provider speaks the same protocol as any HTTP provider."""

from typing import ClassVar

from outbox.providers.http import HttpAdapter


class SandboxAdapter(HttpAdapter):
    """Sends to the sandbox provider."""

    name: ClassVar[str] = "sandbox"
