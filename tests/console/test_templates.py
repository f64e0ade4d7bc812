"""Every template of ours, read as text: what may never be written in one."""

import re
from pathlib import Path

import pytest
from django.template.loader import get_template

ROOT = Path(__file__).resolve().parents[2] / "templates"
NAMES = sorted(str(file.relative_to(ROOT)) for file in ROOT.rglob("*.html"))

#: The verbs and settings of htmx 4; anything else that starts with hx- is a slip, often from version 2.
HTMX = {
    *("hx-get", "hx-post", "hx-trigger", "hx-target", "hx-swap", "hx-select", "hx-sync", "hx-include", "hx-indicator"),
    *("hx-push-url", "hx-replace-url", "hx-disable", "hx-ignore", "hx-preserve", "hx-headers", "hx-status"),
    *("hx-ptag", "hx-preload", "hx-swap-oob", "hx-validate", "hx-morph-skip"),
}

FORBIDDEN = {
    "marks something as safe": r"\|\s*(safe|safeseq)\b|\{%\s*autoescape\s+off",
    "styles an element in place": r"<style\b|\sstyle\s*=",
    "handles an event in place": r"\son[a-z]+\s*=",
    "holds a script": r"<script(?![^>]*\bsrc=)(?![^>]*type=\"application/json\")",
    "loads from elsewhere": r"(?:src|href|action)\s*=\s*[\"'](?:https?:)?//",
    "follows a javascript address": r"javascript:",
    "lets htmx evaluate code": r"hx-on\b|hx-vals|hx-vars|[\"']js:",
    "filters a trigger with code": r"hx-trigger[^=]*=\s*\"[^\"]*\[",
    "leaves an attribute unquoted": r"<[a-z](?:[^<>\"']|\"[^\"]*\"|'[^']*')*\s[\w:-]+=(?![\"'])",
    "opens a frame or an object": r"<(iframe|object|embed|base)\b",
}


#: What may be written into an htmx attribute: addresses made by `url`, keys the system made, the CSRF token, and
#: any other value with every special character encoded.
OWN = re.compile(
    r"\{%\s*(?:url|if|else|endif|elif)\b[^%]*%\}"
    r"|\{\{\s*(?:csrf_token|[\w.]*(?:url|tag|id|key)|request\.get_full_path|[\w.]+\|urlencode)\s*\}\}"
)


def source(name: str) -> str:
    """A template without its comments."""
    text = (ROOT / name).read_text()
    return re.sub(r"\{#.*?#\}|\{%\s*comment.*?endcomment\s*%\}", "", text, flags=re.DOTALL)


def markup(name: str) -> str:
    """What a template says itself: its HTML without Django's tags and values."""
    return re.sub(r"\{%.*?%\}|\{\{.*?\}\}", "", source(name), flags=re.DOTALL)


def attributes(text: str) -> list[tuple[str, str]]:
    return re.findall(r"\s(hx-[\w:.-]+)(?:\s*=\s*(\"[^\"]*\"|'[^']*'))?", text)


@pytest.mark.parametrize("name", NAMES)
def test_a_template_compiles(name: str) -> None:
    assert get_template(name)


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_template_does(what: str) -> None:
    read = source if r"\{%" in FORBIDDEN[what] else markup
    found = {name: match[0] for name in NAMES if (match := re.search(FORBIDDEN[what], read(name)))}

    assert found == {}, f"a template {what}"


def test_every_htmx_attribute_is_one_of_version_4() -> None:
    used = {(name, attribute.partition(":")[0]) for name in NAMES for attribute, _ in attributes(source(name))}

    assert {(name, attribute) for name, attribute in used if attribute not in HTMX} == set()


def test_no_text_of_an_agent_can_reach_an_htmx_attribute() -> None:
    foreign = {
        (name, attribute, value)
        for name in NAMES
        for attribute, value in attributes(source(name))
        if re.search(r"\{[{%]", OWN.sub("", value))
    }

    assert foreign == set(), "pass it through |urlencode"


def test_a_setting_on_the_body_reaches_what_is_in_it() -> None:
    body = re.search(r"<body[^>]*>", source("base.html"))

    assert body is not None
    for attribute, _ in attributes(body[0]):
        assert attribute.endswith(":inherited"), attribute


def test_no_polling_is_faster_than_every_two_seconds() -> None:
    pace = {
        (name, int(seconds))
        for name in NAMES
        for seconds in re.findall(r"hx-trigger=\"[^\"]*every (\d+)s", source(name))
        if int(seconds) < 2
    }

    assert pace == set()


@pytest.mark.parametrize("name", [name for name in NAMES if 'method="post"' in source(name)])
def test_every_form_that_posts_carries_the_token(name: str) -> None:
    forms = re.findall(r"<form\b[^>]*method=\"post\".*?</form>", source(name), re.DOTALL)

    assert all("{% csrf_token %}" in form or "{% slot body %}" in form for form in forms)


@pytest.mark.parametrize(
    ("what", "slip"),
    [
        ("marks something as safe", "{{ text|safe }}"),
        ("styles an element in place", '<p style="color: red">'),
        ("handles an event in place", '<p onclick="go()">'),
        ("holds a script", "<script>go()</script>"),
        ("loads from elsewhere", '<img src="//evil.example/x.png">'),
        ("lets htmx evaluate code", '<p hx-on:click="go()">'),
        ("filters a trigger with code", '<p hx-trigger="click[ctrlKey]">'),
        ("leaves an attribute unquoted", "<p title=x>"),
    ],
)
def test_the_reading_finds_a_planted_slip(what: str, slip: str) -> None:
    assert re.search(FORBIDDEN[what], slip)
