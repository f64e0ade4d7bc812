"""The small parts of pages: what they say, and that nothing they are given becomes markup."""

import re
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from django import forms
from django.template import Context, Template

from console.diffing import difference
from console.templatetags.console_ui import DISPOSITION_LOOKS, EFFECT_LOOKS, STATUS_LOOKS
from outbox.states import EffectState
from runs.states import STORIES, Disposition, RunStatus

TONES = {"quiet", "good", "info", "warn", "severe", "bad"}


def drawn(source: str, **context: Any) -> str:
    return Template("{% load console_ui %}" + source).render(Context(context))


def text_of(html: str) -> str:
    """What a reader sees: the text without the markup, blanks joined."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", html)).strip()


# ---- states ----------------------------------------------------------------------------------------------------


def test_every_state_has_a_look_of_its_own_words_icon_and_tone() -> None:
    for looks, states in ((STATUS_LOOKS, RunStatus), (DISPOSITION_LOOKS, Disposition), (EFFECT_LOOKS, EffectState)):
        assert set(looks) == set(states)
        assert len({look.label for look in looks.values()}) == len(looks)
        assert all(look.icon and look.tone in TONES for look in looks.values())


@pytest.mark.parametrize("status", RunStatus)
def test_a_status_is_text_beside_an_icon_and_says_what_it_means(status: RunStatus) -> None:
    html = drawn("{% status_badge status %}", status=status)

    assert text_of(html) == STATUS_LOOKS[status].label
    assert f"#{STATUS_LOOKS[status].icon}" in html
    assert STORIES[status].meaning in html.replace("&#x27;", "'")


def test_a_status_is_told_in_the_words_of_its_workflow() -> None:
    assert text_of(drawn("{% status_badge 'sent' labels %}", labels={"sent": "refund paid"})) == "refund paid"


@pytest.mark.parametrize("state", [EffectState.NEEDS_RECONCILIATION, EffectState.PENDING, EffectState.DISPATCHING])
def test_an_effect_that_is_not_confirmed_never_looks_like_success(state: EffectState) -> None:
    assert EFFECT_LOOKS[state].tone != "good"
    assert not re.search(
        "sent$|confirmed|accepted|done",
        EFFECT_LOOKS[state].label.removeprefix("waiting to be sent").removeprefix("being sent"),
    )


@pytest.mark.parametrize(
    ("status", "steps", "now"),
    [
        ("received", "received working ready_for_review approved dispatching sent", 0),
        ("approved", "received working ready_for_review approved dispatching sent", 3),
        ("sent", "received working ready_for_review approved dispatching sent", 5),
        ("failed", "received working ready_for_review approved dispatching failed", 5),
        ("needs_reconciliation", "received working ready_for_review approved needs_reconciliation sent", 4),
        ("revoked", "received working ready_for_review approved revoked", 4),
        ("cancelled", "received cancelled", 1),
        ("expired", "received expired", 1),
    ],
)
def test_the_rail_claims_no_step_that_may_not_have_been(status: str, steps: str, now: int) -> None:
    html = drawn("{% status_rail status %}", status=status)

    items = re.findall(r"<li[^>]*>.*?</li>", html, re.DOTALL)
    assert [text_of(item).removesuffix(", done") for item in items] == [
        STATUS_LOOKS[RunStatus(step)].label for step in steps.split()
    ]
    assert ["aria-current" in item for item in items].index(True) == now
    assert [", done" in item for item in items] == [at < now for at in range(len(items))]


# ---- who, when, which ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("who", "said"),
    [
        ("user:mara", "person mara"),
        ("agent:pricing", "agent pricing"),
        ("system:sweep", "part of the system sweep"),
        ("cli:root", "person at the command line root"),
        ("mara", "somebody mara"),
        ("agent:раypal", "agent раypal⟨mixed scripts: Cyrillic, Latin; р is U+0440, а is U+0430⟩"),
    ],
)
def test_an_actor_is_a_name_and_what_it_is(who: str, said: str) -> None:
    assert text_of(drawn("{% actor who %}", who=who)) == said


def test_a_time_is_in_utc_until_the_browser_tells_it_otherwise() -> None:
    when = datetime(2026, 11, 30, 23, 4, 5, 678901, tzinfo=timezone(timedelta(hours=1)))

    html = drawn("{% moment when %}", when=when)

    assert text_of(html) == "30 Nov 2026, 22:04:05 UTC"
    assert 'datetime="2026-11-30T22:04:05.678901Z"' in html
    assert text_of(drawn("{% moment when 'clock' %}", when=when.astimezone(UTC))) == "22:04:05"
    assert text_of(drawn("{% moment when %}", when=None)) == "never"


def test_a_hash_is_short_to_read_and_whole_to_copy() -> None:
    full = "sha256:" + "6f1c" * 15 + "9a02"

    html = drawn("{% hash full %}", full=full)

    assert text_of(html) == "sha256:6f1c6f…9a02"
    assert f'data-copy="{full}"' in html
    assert text_of(drawn("{% hash 'abc' %}")) == "abc"


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("stands: only `notes`, `tags` changed", "stands: only <code>notes</code>, <code>tags</code> changed"),
        ("`<b>`", "<code>&lt;b&gt;</code>"),
        ("no name in it", "no name in it"),
    ],
)
def test_a_reason_shows_the_names_in_it_as_code(text: str, html: str) -> None:
    assert drawn("{% reason text %}", text=text) == html


def test_text_can_follow_a_part_closely() -> None:
    assert text_of(drawn("({% untrusted 'a' %}, {% version 7 %}.)")) == "(a, version 7.)"


# ---- foreign text ----------------------------------------------------------------------------------------------

CORPUS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<b hx-get=/x hx-trigger=load>",
    "</textarea><script>",
    '"><svg onload=alert(1)>',
    "' onfocus=alert(1) autofocus='",
    "{{ csrf_token }}{% url 'x' %}",
    "[approve](javascript:alert(1)) ![x](//evil.example/x.png)",
    "<!-- --><hx-partial hx-target=body>",
    "</bdi></section><section class='card'>✔ verified",
    "\u202e<a href=javascript:alert(1)>",
    "&lt;b&gt; &amp; &#x27;",
]
TAGS = [
    "{% untrusted text %}",
    "{% untrusted_name text %}",
    "{% host text %}",
    "{% agent_text text text %}",
    "{% json_block text %}",
    "{% actor text %}",
    "{% field_value text %}",
    "{% diff None text %}",
    "{% diff text None %}",
    "{% diff long text %}",
    "{% diff empty entries %}",
    "{% diff entries changed %}",
    "{% badge text %}",
    "{% hash text %}",
    "{% ref text %}",
    "{% status_badge 'sent' labels %}",
    "{% status_rail 'sent' labels text %}",
    "{% empty text text %}",
]
OWN = re.compile(
    r"</?(?:span|bdi|b|small|div|section|header|p|pre|code|label|input|button|svg|use|del|ins|ul|ol|li|h3)\b[^<>]*>"
)


@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize("text", CORPUS)
def test_no_foreign_text_becomes_markup(tag: str, text: str) -> None:
    entries, changed = [{"id": text, "text": text}], [{"id": text, "text": text + "!"}]
    labels = {"sent": text}

    html = drawn(tag, text=text, long="x" * 90, empty=[], entries=entries, changed=changed, labels=labels)

    plain = drawn(
        tag,
        text="a",
        long="x" * 90,
        empty=[],
        entries=[{"id": "a", "text": "a"}],
        changed=[{"id": "a", "text": "a!"}],
        labels={"sent": "a"},
    )
    assert "<" not in OWN.sub("", html)
    assert names_in(html) <= names_in(plain) | MARKING


#: What marks and findings add to a text that has some.
MARKING = {"title", "class", "hx-ignore"}


def names_in(html: str) -> set[str]:
    """The names of all attributes in the markup itself; what stands between quotes is left out."""
    return set(re.findall(r"\s([\w:-]+)(?==|[\s>/])", re.sub(r"\"[^\"]*\"", '""', " ".join(OWN.findall(html)))))


def test_an_agents_text_is_framed_named_and_labelled() -> None:
    html = drawn("{% agent_text text 'agent:pricing' %}", text="✔ verified by policy")

    assert html.startswith('<section class="agent-text"')
    assert "untrusted, shown as it came" in html
    assert "pricing" in html
    assert "Look twice" not in html


def test_what_was_found_in_an_agents_text_is_told_below_it() -> None:
    html = drawn("{% agent_text text %}", text="a\u202eb")

    assert "characters that turn the reading direction around" in text_of(html)


def test_whatever_is_shown_has_a_text() -> None:
    class Named:
        def __str__(self) -> str:
            return "a key\u202e"

    assert text_of(drawn("{% untrusted thing %}", thing=Named())) == "a key⟨U+202E⟩"
    assert text_of(drawn("{% untrusted thing %}", thing=Decimal("1.50"))) == "1.50"
    assert text_of(drawn("{% untrusted thing %}", thing=None)) == ""


def test_a_payload_is_shown_whole_as_bytes_or_text() -> None:
    canonical = '{"amount":"25.00","note":"' + "long " * 4_000 + '"}'

    for content in (canonical, canonical.encode(), memoryview(canonical.encode())):
        assert canonical in text_of(drawn("{% json_block content %}", content=content)).replace("&quot;", '"')


def test_bytes_that_are_no_text_are_marked() -> None:
    assert "⟨U+DCFF⟩" in drawn("{% json_block content %}", content=b"a\xffb")


def test_a_host_that_could_be_mistaken_carries_its_wire_form() -> None:
    assert "xn--80ak6aa92e.com" in text_of(drawn("{% host 'аррӏе.com' %}"))
    assert text_of(drawn("{% host 'pay.example.com' %}")) == "pay.example.com"


# ---- values and differences ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (None, None, "not set"),
        ("a", "a", "a"),
        ("30.00", "25.00", "was 30.00 is 25.00"),
        (None, "25.00", "is 25.00"),
        ("25.00", None, "was 25.00 not set"),
        ("25.00", "", "was 25.00 is empty"),
        (["late"], ["late", "vip"], "vip 1 unchanged"),
    ],
)
def test_a_difference_says_in_words_what_it_shows_in_colour(old: Any, new: Any, said: str) -> None:
    assert text_of(drawn("{% diff old new %}", old=old, new=new)) == said
    assert text_of(drawn("{% diff_cell made %}", made=difference(old, new))) == said


def test_a_long_text_marks_its_words_for_the_eye_and_the_ear() -> None:
    old = "The customer reports that one item arrived damaged and asks for money."

    html = drawn("{% diff old new %}", old=old, new=old.replace("one", "two"))

    assert "removed: one" in text_of(html)
    assert "added: two" in text_of(html)


@pytest.mark.parametrize(("value", "said"), [(None, "not set"), ("", "empty"), ("a", "a"), (0, "0"), (["a"], '["a"]')])
def test_a_value_that_was_never_set_is_not_an_empty_one(value: Any, said: str) -> None:
    assert text_of(drawn("{% field_value value %}", value=value)).replace("&quot;", '"') == said


# ---- lists and forms -------------------------------------------------------------------------------------------


def test_a_pager_links_only_where_there_is_a_page() -> None:
    html = drawn("{% pager page %}", page=SimpleNamespace(previous_url="", next_url="?after=x", summary="1 to 50"))

    assert re.findall(r'<a [^>]*href="([^"]*)"', html) == ["?after=x"]
    assert text_of(html) == "Newer 1 to 50 Older"


class Wish(forms.Form):
    amount = forms.CharField(help_text="Two digits.", widget=forms.TextInput(attrs={"placeholder": "Amount"}))
    tell = forms.BooleanField(required=False)
    run = forms.CharField(widget=forms.HiddenInput)


def test_a_field_is_tied_to_its_label_hint_and_error() -> None:
    html = drawn("{% form_fields form %}", form=Wish({"amount": "", "run": "R-42"}))

    assert '<label for="id_amount">Amount' in html
    assert 'id="id_amount_helptext"' in html
    assert 'id="id_amount_error"' in html
    assert 'aria-describedby="id_amount_helptext id_amount_error"' in html
    assert 'aria-invalid="true"' in html
    assert "placeholder" not in html


def test_a_qr_code_is_drawn_by_our_own_page() -> None:
    html = drawn("{% qr svg %}", svg='<svg viewBox="0 0 29 29"><path d="M4,4H5V5H4z" id="qr-path"/></svg>')

    assert '<path d="M4,4H5V5H4z"/>' in html
    assert "data:" not in html
    with pytest.raises(ValueError, match="QR"):
        drawn("{% qr svg %}", svg="<svg/>")
