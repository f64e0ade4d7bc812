"""What people choose for themselves: named filters of lists, and where they want to be told of new cases.

None of it is authority, so it waits for no lock but its own row and is in no ledger.
"""

from dataclasses import dataclass

from django.db.models.functions import Now

from runs.errors import Fault, InvalidParams
from runs.models import NotificationChoice, SavedFilter
from runs.transactions import durable
from runs.values import Principal

MOST_FILTERS = 30
LONGEST_NAME, LONGEST_QUERY = 80, 2000


# ---- filters of lists --------------------------------------------------------------------------------------


def list_filters(person_id: int, screen: str) -> list[SavedFilter]:
    """The named filters of a person for one screen, by name."""
    return list(SavedFilter.objects.filter(person_id=person_id, screen=screen, is_removed=False).order_by("name"))


@durable
def save_filter(principal: Principal, screen: str, name: str, query: str) -> None:
    """Keep the filters of a screen under a name; the same name again takes their place. Raises `InvalidParams`."""
    name = name.strip()
    if not name or len(name) > LONGEST_NAME or not name.isprintable() or len(query) > LONGEST_QUERY:
        raise InvalidParams(errors=[Fault("/name", "form", f"One line of at most {LONGEST_NAME} characters.")])
    others = [row for row in list_filters(principal.id, screen) if row.name != name]
    if len(others) >= MOST_FILTERS:
        raise InvalidParams(errors=[Fault("/name", "too-many", f"At most {MOST_FILTERS} are kept: remove one first.")])
    SavedFilter.objects.update_or_create(
        person_id=principal.id, screen=screen, name=name, defaults={"query": query, "is_removed": False}
    )


@durable
def remove_filter(principal: Principal, screen: str, name: str) -> None:
    """Take a named filter off the list. One that is not there is not there."""
    SavedFilter.objects.filter(person_id=principal.id, screen=screen, name=name).update(is_removed=True)


# ---- notifications ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Choice:
    """Where a person wants to be told of new cases."""

    address: str
    by_email: bool


def read_choice(person_id: int) -> Choice:
    """What a person chose; nothing by e-mail as long as they did not."""
    row = NotificationChoice.objects.filter(person_id=person_id).first()
    return Choice(row.address, row.by_email) if row else Choice("", by_email=False)


@durable
def choose(principal: Principal, choice: Choice) -> None:
    """Keep what a person chose. Cases that were open before they turned it on are not told. Raises `InvalidParams`."""
    if choice.by_email and not choice.address:
        fault = Fault("/address", "missing", "Say to which address.")
        raise InvalidParams(fault.detail, errors=[fault])
    row = NotificationChoice.objects.filter(person_id=principal.id).first()
    if row is None:
        NotificationChoice.objects.create(
            person_id=principal.id, address=choice.address, by_email=choice.by_email, since=Now()
        )
        return
    since = {} if row.by_email or not choice.by_email else {"since": Now()}
    NotificationChoice.objects.filter(person_id=principal.id).update(
        address=choice.address, by_email=choice.by_email, **since
    )
