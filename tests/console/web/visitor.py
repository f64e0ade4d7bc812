"""A person at the console without a browser: pages, fragments and forms as a browser would send them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import unescape
from html.parser import HTMLParser
from typing import Any

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from outbox import pulse
from runs.models import Person
from runs.values import Principal


@dataclass
class Visitor:
    """Somebody signed in, who clicks and types."""

    client: Client

    def get(self, path: str, **query: str) -> "Answer":
        """A whole page."""
        return Answer(self.client.get(path, query))

    def poll(self, path: str, tag: str = "", **query: str) -> "Answer":
        """What an element of the page asks for by itself."""
        headers = {"HX-Request": "true", "HX-Request-Type": "partial"} | ({"HX-PTag": tag} if tag else {})
        return Answer(self.client.get(path, query, headers=headers))

    def post(self, path: str, data: Mapping[str, Any]) -> "Answer":
        """A form sent by a browser without script."""
        return Answer(self.client.post(path, data))

    def send(self, path: str, data: Mapping[str, Any]) -> "Answer":
        """The same form sent by htmx."""
        headers = {"HX-Request": "true", "HX-Request-Type": "partial", "HX-Current-URL": "http://testserver/here/?a=1"}
        return Answer(self.client.post(path, data, headers=headers))

    def cost(self, path: str) -> int:
        """How many statements a page takes."""
        with CaptureQueriesContext(connection) as statements:
            self.client.get(path)
        return len(statements)


@dataclass(frozen=True)
class Answer:
    """A page or a fragment, as somebody reads it."""

    response: Any  # Django's answer, with what its test client adds

    @property
    def status(self) -> int:
        return int(self.response.status_code)

    @property
    def html(self) -> str:
        return str(self.response.content.decode())

    @property
    def text(self) -> str:
        """Its words."""
        body = re.sub(r"<head>.*?</head>|<svg.*?</svg>", " ", self.html, flags=re.DOTALL)
        return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())

    @property
    def is_page(self) -> bool:
        return "<html" in self.html

    def form(self, action: str) -> dict[str, str]:
        """What the form with this action would send if nothing were typed."""
        reader = _FormReader(action)
        reader.feed(self.html)
        assert reader.found, f"no form for {action}"
        return reader.values

    def has_form(self, action: str) -> bool:
        reader = _FormReader(action)
        reader.feed(self.html)
        return reader.found

    def header(self, name: str) -> str:
        return str(self.response.headers.get(name, ""))


class _FormReader(HTMLParser):
    """Collects the values of one form: inputs, chosen options, texts. Buttons count only when pressed."""

    def __init__(self, action: str) -> None:
        super().__init__()
        self.action, self.found, self.values = action, False, dict[str, str]()
        self._inside, self._select, self._textarea = False, "", ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form" and given.get("action") == self.action:
            self._inside = self.found = True
        if not self._inside or "disabled" in given:
            return
        name = given.get("name", "")
        match tag:
            case "input" if given.get("type") in ("radio", "checkbox"):
                if "checked" in given:
                    self.values[name] = given.get("value", "on")
            case "input":
                self.values[name] = given.get("value", "")
            case "select":
                self._select, self.values[name] = name, ""
            case "option" if self._select and ("selected" in given or not self.values[self._select]):
                self.values[self._select] = given.get("value", "")
            case "textarea":
                self._textarea, self.values[name] = name, ""

    def handle_data(self, data: str) -> None:
        if self._textarea:
            self.values[self._textarea] = (self.values[self._textarea] + data).removeprefix("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._inside = False
        elif tag == "select":
            self._select = ""
        elif tag == "textarea":
            self._textarea = ""


def visit(principal: Principal) -> Visitor:
    """This person, signed in while the sweep is at work."""
    pulse.beat()
    client = Client(raise_request_exception=True)
    client.force_login(Person.objects.get(username=principal.name))
    return Visitor(client)


def stranger() -> Visitor:
    """Somebody who is not signed in."""
    return Visitor(Client())
