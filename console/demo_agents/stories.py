"""What happens in the demo: customers who write, reports that are wanted. All names and numbers are invented."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from random import Random


@dataclass(frozen=True, slots=True)
class Story:
    """A customer, what they write first, and what they write seconds later."""

    customer: str
    opening: str
    later: tuple[tuple[float, str], ...] = ()
    note: str = ""  # what the web shop adds to the case while somebody works on it


@dataclass(frozen=True, slots=True)
class Topic:
    """A report that somebody wants, and whom it turns out to be for."""

    question: str
    audience: str
    changed_audience: str = ""


#: The first ones show, one after the other, what a record under many hands goes through.
STORIES = (
    Story(
        "Ana Lima",
        "The tea set came today and two cups are broken. Only half of the set is usable. I paid EUR 30.00.",
    ),
    Story(
        "Tomasz Wolski",
        "Order 55172 is a week late and nobody tells me anything.",
        later=((4, "It has just been handed in. Two of the jars are cracked! I paid EUR 24.50."),),
    ),
    Story(
        "Joost de Vries",
        "The lamp shade is scratched all along the seam. I paid EUR 42.00 for it.",
        later=((50, "It was a present. Pay it back to Anke Visser please, she ordered it."),),
        note="Photos of the parcel are in the carrier's portal.",
    ),
    Story("Priya Nair", "I was charged EUR 18.90 for order 88213 two times. Sorry if I sent this twice."),
    Story("Lucía Ortega", "My bank shows a payment of EUR 12.50 to you, but I have bought nothing this month."),
    Story("Hana Sato", "One of the mugs had a small dent. I paid EUR 9.90 and it is still fine to drink from."),
    Story("Piet Jansen", "The sofa was delivered with a broken frame. I paid EUR 749.00 and want my money back."),
    Story("Miriam Katz", "The voucher of EUR 15.00 did not work. Please pay it back to Noam Katz, it was a present."),
    Story(
        "Kwame Boateng",
        "Where is my order 61230? It should have been here last Friday.",
        later=((20, "I need it tomorrow, it is a birthday present."),),
    ),
    Story("Sofia Rossi", "The vase is cracked at the bottom. I paid EUR 56.00.", note="Repeat customer since 2019."),
    Story("Emil Nilsson", "I sent the jacket for EUR 89.00 back weeks ago. Pay it back to Elsa Nilsson please."),
    Story("Chloé Martin", "Two plates of the set are broken, only half of the set is usable. I paid EUR 64.00."),
    Story("Dina Haddad", "You charged EUR 7.20 for shipping although it said free from EUR 50.00."),
    Story("Rui Lima", "The kettle leaks. It is cracked next to the handle. I paid EUR 39.90.", later=((5, "Urgent!"),)),
    Story("Olga Petrova", "The parcel is delayed again, the third time in a row."),
    Story("Jakob Weber", "The scale is broken, it always shows 3.2 kg. I paid EUR 22.00. Sorry if I sent this twice."),
)

FOLLOW_UPS = (
    "Is there any news?",
    "I have sent the photos by e-mail as well.",
    "Please call me after five, I am at work until then.",
    "A replacement would be fine too.",
    "The carrier says that they know nothing about it.",
)

TOPICS = (
    Topic("Which depots lose the most parcels?", "Operations", changed_audience="The board"),
    Topic("How long do refunds take from message to payment?", "Customer care"),
    Topic("Why did returns rise in the second quarter?", "Purchasing", changed_audience="Purchasing and finance"),
    Topic("Which suppliers pack badly?", "Purchasing"),
    Topic("What do customers ask for most often by phone?", "Customer care", changed_audience="The board"),
)


def stories(chance: Random) -> Iterator[Story]:
    """Every story in its order, and then again and again in another one."""
    yield from STORIES
    while True:
        yield from chance.sample(STORIES, len(STORIES))


def topics() -> Iterator[Topic]:
    """Every topic, again and again."""
    return (TOPICS[number % len(TOPICS)] for number in count())
