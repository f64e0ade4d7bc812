"""Walking a page by keyboard alone: Tab to what is meant, then what somebody would press there."""

from playwright.sync_api import Locator, Page

#: More steps than any page has places to stop at.
FARTHEST = 200
_FOCUSED = "element => element === document.activeElement"
_SEEN = """element => {
  const { left, top, width, height } = element.getBoundingClientRect();
  const seen = document.elementFromPoint(left + width / 2, top + height / 2);
  return seen !== null && (element.contains(seen) || seen.contains(element));
}"""


def walk_to(page: Page, wanted: Locator) -> None:
    """Press Tab until `wanted` has the focus; fail where no way leads there, or where something covers it then."""
    for _ in range(FARTHEST):
        if wanted.evaluate(_FOCUSED):
            assert wanted.evaluate(_SEEN), f"{wanted} has the focus and is covered"
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not lead to {wanted}")


def press(page: Page, button: Locator) -> None:
    """Walk to a button or link, and press it."""
    walk_to(page, button)
    page.keyboard.press("Enter")


def write(page: Page, field: Locator, text: str) -> None:
    """Walk to a field, and type."""
    walk_to(page, field)
    page.keyboard.type(text)


def tick(page: Page, box: Locator) -> None:
    """Walk to a checkbox, and tick it."""
    walk_to(page, box)
    page.keyboard.press("Space")


def choose(page: Page, group: str, value: str) -> None:
    """Walk to the radio buttons that match `group`, and go through them with the arrows."""
    wanted = page.locator(f"{group}[value={value}]")
    walk_to(page, page.locator(f"{group}:focus, {group}:checked, {group}:enabled").first)
    page.keyboard.press("Space")
    for _ in range(FARTHEST):
        if wanted.is_checked():
            return
        page.keyboard.press("ArrowDown")
    raise AssertionError(f"No arrow leads to {value}")
