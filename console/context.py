"""What every page needs around its content: the links at the top with their counts, and how it looks.

A link appears only when its screen exists. A screen adds a number to its link by adding a function to
`COUNT_PROVIDERS`; no other place knows about it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse

from runs.states import Role


@dataclass(frozen=True, slots=True)
class Screen:
    """A link of the main navigation, before it is known whether the screen exists."""

    key: str
    label: str
    icon: str
    route: str
    prefixes: tuple[str, ...]
    hotkey: str = ""


EFFECT_PREFIXES = ("/effects/", "/remediations/", "/repair-plans/", "/standing-approvals/")

#: A screen owns the addresses that start with one of its prefixes; the inbox also owns the cases it lists.
SCREENS = (
    Screen("inbox", "Inbox", "inbox", "inbox:list", ("/escalations/", "/snapshots/"), "g i"),
    Screen("runs", "Runs", "layers", "runs:list", ("/runs/",)),
    Screen("effects", "Effects", "send", "effects:list", EFFECT_PREFIXES),
    Screen("insights", "Insights", "chart-column", "insights:overview", ("/insights/",)),
    Screen("workflows", "Workflows", "workflow", "workflows:list", ("/workflows/",)),
    Screen("audit", "Audit", "scroll-text", "audit:list", ("/audit/",)),
)


@dataclass(frozen=True, slots=True)
class AccountLink:
    """A link of the account menu; with `roles`, only for people who hold one of them."""

    label: str
    icon: str
    route: str
    roles: frozenset[Role] = frozenset()


OVERSEERS = frozenset({Role.ADMIN, Role.AUDITOR})

ACCOUNT_LINKS = (
    AccountLink("Account", "user", "account:overview"),
    AccountLink("Password", "key-round", "account_change_password"),
    AccountLink("Second factor", "shield-check", "mfa_index"),
    AccountLink("Waiting for a second admin", "hourglass", "confirmations:list", OVERSEERS),
    AccountLink("People", "users", "people:list", OVERSEERS),
    AccountLink("Agents", "bot", "agents:list", OVERSEERS),
    AccountLink("Destinations", "globe", "destinations:list", OVERSEERS),
    AccountLink("Halt", "octagon-pause", "halt:switch", frozenset({Role.ADMIN})),
)

#: Tabs over the pages about one's own account.
ACCOUNT_PAGES = (
    ("Overview", "account:overview"),
    ("Password", "account_change_password"),
    ("Second factor", "mfa_index"),
)

#: Queues of the inbox that a key sequence leads to: label, keys, value of the inbox's `queue` filter.
QUEUES = (
    ("Reviews", "g r", "reviews"),
    ("Escalations", "g e", "escalations"),
    ("Repairs", "g x", "repairs"),
)

THEMES = {
    "auto": "As the system",
    "light": "Light",
    "dark": "Dark",
    "light-high-contrast": "Light, high contrast",
    "dark-high-contrast": "Dark, high contrast",
    "light-colorblind": "Light, red-green blindness",
    "dark-colorblind": "Dark, red-green blindness",
    "light-tritanopia": "Light, blue-yellow blindness",
    "dark-tritanopia": "Dark, blue-yellow blindness",
}
THEME_COOKIE = "clearance-theme"
KEYS_COOKIE = "clearance-keys"

#: Gives numbers for navigation keys, such as `{"inbox": 7}`, for the person who asks.
CountProvider = Callable[[HttpRequest], Mapping[str, int]]
COUNT_PROVIDERS: list[CountProvider] = []


@dataclass(frozen=True, slots=True)
class NavigationItem:
    """A link of the main navigation as a page shows it."""

    key: str
    label: str
    url: str
    icon: str
    count: int | None
    current: bool
    hotkey: str


def navigation(request: HttpRequest) -> dict[str, Any]:
    """Context processor: the links of the top bar, the account menu and the queues; none for a stranger."""
    person = getattr(request, "user", None)  # a request refused early has none
    if person is None or not person.is_authenticated:
        return {"navigation": (), "account_links": (), "account_pages": (), "queues": (), "search_url": ""}
    counts = counted(request)
    inbox = url_of("inbox:list")
    return {
        "navigation": [
            NavigationItem(
                key=screen.key,
                label=screen.label,
                url=url,
                icon=screen.icon,
                count=counts.get(screen.key),
                current=request.path == url or request.path.startswith(screen.prefixes),
                hotkey=screen.hotkey,
            )
            for screen in SCREENS
            if (url := url_of(screen.route))
        ],
        "account_links": [
            {"label": link.label, "icon": link.icon, "url": url}
            for link in ACCOUNT_LINKS
            if (not link.roles or link.roles.intersection(person.roles)) and (url := url_of(link.route))
        ],
        "account_pages": [
            {"label": label, "url": url, "current": request.path.startswith(url)}
            for label, route in ACCOUNT_PAGES
            if (url := url_of(route))
        ],
        "queues": [
            {"label": label, "hotkey": keys, "url": f"{inbox}?queue={queue}"} for label, keys, queue in QUEUES if inbox
        ],
        "search_url": url_of("runs:list"),
    }


def appearance(request: HttpRequest) -> dict[str, Any]:
    """Context processor: the theme and whether single-key shortcuts are on, from cookies that the browser keeps."""
    theme = request.COOKIES.get(THEME_COOKIE, "auto")
    return {
        "theme": theme if theme in THEMES else "auto",
        "themes": THEMES,
        "single_keys": request.COOKIES.get(KEYS_COOKIE) != "off",
    }


def counted(request: HttpRequest) -> dict[str, int]:
    """All numbers for the navigation; a later provider wins."""
    counts: dict[str, int] = {}
    for provider in COUNT_PROVIDERS:
        counts.update(provider(request))
    return counts


def url_of(route: str) -> str:
    """The address of a screen, or an empty text while there is no such screen."""
    try:
        return reverse(route)
    except NoReverseMatch:
        return ""
