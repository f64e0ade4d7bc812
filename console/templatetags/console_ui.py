"""The small parts of pages, as template tags: what a status, an actor, a time, a hash or a foreign text looks like.

Each tag only chooses words, an icon and a tone and leaves the HTML to a template in `templates/components/`, where
Django escapes it. No tag marks anything as safe. Rules live elsewhere: what is legal comes from the view.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django import template
from django.forms import BaseForm
from django.template.base import Parser, Token
from django.template.context import Context

from console.diffing import Difference, difference, written
from console.hostile import Shown, inspect
from console.lookalikes import Host, inspect_host, inspect_name
from outbox.states import EffectState
from runs.states import STORIES, Disposition, RunStatus

register = template.Library()


@dataclass(frozen=True, slots=True)
class Look:
    """How a state is shown: in words, with an icon, in a tone. Never by its colour alone."""

    label: str
    icon: str
    tone: str


STATUS_LOOKS: dict[RunStatus, Look] = {
    RunStatus.RECEIVED: Look("received", "circle-dashed", "quiet"),
    RunStatus.WORKING: Look("working", "circle-dot", "info"),
    RunStatus.READY_FOR_REVIEW: Look("ready for review", "snowflake", "warn"),
    RunStatus.APPROVED: Look("approved", "shield-check", "info"),
    RunStatus.DISPATCHING: Look("dispatching", "send", "info"),
    RunStatus.SENT: Look("sent", "circle-check", "good"),
    RunStatus.FAILED: Look("failed", "circle-x", "bad"),
    RunStatus.NEEDS_RECONCILIATION: Look("outcome unknown", "circle-question-mark", "severe"),
    RunStatus.REVOKED: Look("revoked", "undo-2", "quiet"),
    RunStatus.CANCELLED: Look("cancelled", "ban", "quiet"),
    RunStatus.EXPIRED: Look("expired", "timer-off", "quiet"),
}

DISPOSITION_LOOKS: dict[Disposition, Look] = {
    Disposition.RETRY: Look("sent back to retry", "refresh-cw", "info"),
    Disposition.MERGE: Look("merged", "git-merge", "good"),
    Disposition.REJECT: Look("rejected", "ban", "quiet"),
    Disposition.ESCALATE: Look("escalated", "siren", "warn"),
}

EFFECT_LOOKS: dict[EffectState, Look] = {
    EffectState.PENDING: Look("waiting to be sent", "clock", "info"),
    EffectState.DISPATCHING: Look("being sent", "send", "info"),
    EffectState.NEEDS_RECONCILIATION: Look("outcome unknown", "circle-question-mark", "severe"),
    EffectState.SUCCEEDED: Look("confirmed", "circle-check", "good"),
    EffectState.FAILED: Look("failed, nothing happened", "circle-x", "bad"),
    EffectState.CANCELLED: Look("cancelled, nothing happened", "ban", "quiet"),
}

ACTOR_LOOKS: dict[str, tuple[str, str]] = {
    "user": ("person", "user"),
    "agent": ("agent", "bot"),
    "system": ("part of the system", "cog"),
    "cli": ("person at the command line", "terminal"),
}

Tag = Callable[..., dict[str, Any]]


class Inline(template.Node):
    """Another tag's output without the blanks around it, so that text can follow closely."""

    def __init__(self, node: template.Node) -> None:
        self.node = node

    def render(self, context: Context) -> str:
        return self.node.render(context).strip()


def component(name: str) -> Callable[[Tag], Tag]:
    """Register a tag that gives the context of `templates/components/_<name>.html`."""

    def decorate(tag: Tag) -> Tag:
        library = template.Library()
        library.inclusion_tag(f"components/_{name}.html")(tag)
        [(tag_name, compiled)] = library.tags.items()

        def compile_inline(parser: Parser, token: Token) -> Inline:
            return Inline(compiled(parser, token))

        register.tag(tag_name, compile_inline)
        return tag

    return decorate


# ---- states ----------------------------------------------------------------------------------------------------


@component("badge")
def badge(label: str, tone: str = "quiet", icon: str = "", title: str = "") -> dict[str, Any]:
    """Any short state: `{% badge "due in 48 min" "warn" "clock" %}`."""
    return {"label": label, "tone": tone, "icon": icon, "title": title}


@component("badge")
def status_badge(status: str, labels: Mapping[str, str] | None = None) -> dict[str, Any]:
    """A run's status in the words of its workflow, where `labels` has them; what it means on hover."""
    known = RunStatus(status)
    look = STATUS_LOOKS[known]
    return badge((labels or {}).get(known) or look.label, look.tone, look.icon, STORIES[known].meaning)


@component("badge")
def disposition_badge(disposition: str) -> dict[str, Any]:
    """What was done with a stale command."""
    look = DISPOSITION_LOOKS[Disposition(disposition)]
    return badge(look.label, look.tone, look.icon)


@component("badge")
def effect_badge(state: str) -> dict[str, Any]:
    """Where an effect stands; an unknown outcome is never shown as one that is known."""
    look = EFFECT_LOOKS[EffectState(state)]
    return badge(look.label, look.tone, look.icon)


@component("rail")
def status_rail(status: str, labels: Mapping[str, str] | None = None, note: str = "") -> dict[str, Any]:
    """The way of a run with the step where it stands; `note` is added to that step."""
    known = RunStatus(status)
    way = _way(known)
    return {
        "steps": [
            {
                "label": (labels or {}).get(step) or STATUS_LOOKS[step].label,
                "look": STATUS_LOOKS[step],
                "place": "now" if step is known else "done" if at < way.index(known) else "ahead",
            }
            for at, step in enumerate(way)
        ],
        "note": note,
    }


def _way(status: RunStatus) -> tuple[RunStatus, ...]:
    """The steps that lead to this status, and those expected after it. It claims no step that may not have been."""
    to_consent = (RunStatus.RECEIVED, RunStatus.WORKING, RunStatus.READY_FOR_REVIEW, RunStatus.APPROVED)
    match status:
        case RunStatus.CANCELLED | RunStatus.EXPIRED:
            return (RunStatus.RECEIVED, status)
        case RunStatus.REVOKED:
            return (*to_consent, status)
        case RunStatus.NEEDS_RECONCILIATION:
            return (*to_consent, status, RunStatus.SENT)
        case RunStatus.FAILED:
            return (*to_consent, RunStatus.DISPATCHING, status)
    return (*to_consent, RunStatus.DISPATCHING, RunStatus.SENT)


@component("icon")
def icon(name: str, label: str = "", size: str = "") -> dict[str, Any]:
    """An icon of the sprite; without `label` it is decoration beside a text."""
    return {"name": name, "label": label, "size": size}


# ---- who, when, which ------------------------------------------------------------------------------------------


@component("actor")
def actor(who: str) -> dict[str, Any]:
    """`user:mara`, `agent:pricing`, `system:sweep` or `cli:root`, as a name with an icon of what it is."""
    kind, _, name = who.partition(":")
    what, glyph = ACTOR_LOOKS.get(kind, ("somebody", "user"))
    return {
        "kind": kind if kind in ACTOR_LOOKS else "unknown",
        "what": what,
        "icon": glyph,
        "shown": inspect_name(name or who),
    }


@component("moment")
def moment(when: datetime | None, style: str = "relative") -> dict[str, Any]:
    """A time in UTC; the browser makes it `relative`, a `clock` or a `full` time in the viewer's zone."""
    return {"when": when.astimezone(UTC) if when else None, "style": style}


@component("hash")
def hash(value: str) -> dict[str, Any]:
    """A hash shortened in the middle, whole on hover and by the copy button."""
    prefix, _, digest = value.rpartition(":")
    short = f"{digest[:6]}…{digest[-4:]}" if len(digest) > 14 else digest
    return {"full": value, "short": f"{prefix}:{short}" if prefix else short}


@component("ref")
def ref(value: object) -> dict[str, Any]:
    """A key or id that the system made, with a copy button."""
    return {"value": str(value)}


@component("version")
def version(number: int) -> dict[str, Any]:
    """The version of a run, in words that do not break over two lines."""
    return {"number": number}


@component("reason")
def reason(text: str) -> dict[str, Any]:
    """A reason in words of ours; the names that it gives between backticks stand as code."""
    return {"parts": text.split("`")}


# ---- text that is not to be trusted ----------------------------------------------------------------------------


@component("untrusted")
def untrusted(text: object) -> dict[str, Any]:
    """A foreign text in a line of ours: text nodes, with marks for what cannot be seen."""
    return {"shown": inspect(_text(text))}


@component("untrusted")
def shown(made: Shown) -> dict[str, Any]:
    """The same for a text that a view or another part has inspected already."""
    return {"shown": made}


@component("untrusted")
def untrusted_name(text: object) -> dict[str, Any]:
    """The same for a person's or payee's name: mixed scripts are marked as well."""
    return {"shown": inspect_name(_text(text))}


@component("host")
def host(name: str) -> dict[str, Any]:
    """A host, with its form on the wire beside it where a reader could mistake it."""
    found: Host = inspect_host(name)
    return {"shown": found.shown, "ascii": found.ascii}


@component("agent_text")
def agent_text(text: object, who: str = "", label: str = "Text from the agent") -> dict[str, Any]:
    """A whole block from an agent: framed, named and labelled as untrusted, findings below it."""
    return {"shown": inspect(_text(text)), "who": who, "label": label}


@component("code")
def json_block(content: object, label: str = "JSON") -> dict[str, Any]:
    """Canonical text, every character of it, in a block that scrolls, wraps and can be copied; odd words marked."""
    return {"shown": inspect_name(_text(content)), "label": label}


# ---- differences -----------------------------------------------------------------------------------------------


@component("difference")
def diff(old: object, new: object) -> dict[str, Any]:
    """How a field changed, from one value to the other."""
    return {"difference": difference(old, new)}


@component("difference")
def diff_cell(found: Difference) -> dict[str, Any]:
    """The same for a difference that the view has made already."""
    return {"difference": found}


@component("value")
def field_value(value: object) -> dict[str, Any]:
    """One value of a field, as text; a value that was never set says so."""
    return {
        "is_set": value is not None,
        "is_text": isinstance(value, str) and len(value) > 40,
        "shown": inspect(_text(value)),
    }


# ---- lists -----------------------------------------------------------------------------------------------------


@component("pager")
def pager(page: object) -> dict[str, Any]:
    """Links to the pages before and after: `page` has `previous_url`, `next_url` and `summary`."""
    return {"page": page}


@component("empty")
def empty(title: str, text: str = "", icon: str = "inbox", tone: str = "quiet") -> dict[str, Any]:
    """What stands where nothing is yet: what would appear here and how to make it appear."""
    return {"title": title, "text": text, "icon": icon, "tone": tone}


# ---- forms -----------------------------------------------------------------------------------------------------


@component("form_fields")
def form_fields(form: BaseForm) -> dict[str, Any]:
    """Every field of a form with its label, hint and errors, each tied to its input for screen readers."""
    for field in form:
        if field.field.widget.attrs.get("placeholder") == field.label:
            del field.field.widget.attrs["placeholder"]  # the label stands above it already
    return {"form": form}


@component("qr")
def qr(svg: str) -> dict[str, Any]:
    """The QR code of the second factor, drawn by our own page so that no image has to come from a data URL."""
    box, path = re.search(r'viewBox="([^"]+)"', svg), re.search(r'\bd="([^"]+)"', svg)
    if not box or not path:
        raise ValueError("not the drawing of a QR code")
    return {"view_box": box[1], "path": path[1]}


def _text(value: object) -> str:
    """Any value as text: JSON as JSON, bytes with marks for what is no UTF-8, everything else as it calls itself."""
    if isinstance(value, bytes | memoryview):
        return bytes(value).decode("utf-8", "surrogateescape")
    if value is None or isinstance(value, str | bool | int | float | list | dict):
        return written(value)
    return str(value)
