"""What became of an admin's form: faults beside its inputs, a refusal above it, or the answer of the action."""

from collections.abc import Callable
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse

from console.people_forms import AskedForm
from console.problems import problem_of
from console.web.paging import see_other
from runs.errors import ClearanceError, InputError, NotFound
from runs.requests import Answer


@dataclass(frozen=True, slots=True)
class Asked:
    """A form that was sent, and what the action said to it."""

    form: AskedForm
    answer: Answer | None = None
    refusal: ClearanceError | None = None

    @property
    def status(self) -> int:
        """The HTTP status that says the same."""
        if self.refusal is not None:
            return problem_of(self.refusal).status
        return 200 if self.answer is not None else 422

    @property
    def title(self) -> str:
        """The refusal in a few words."""
        return problem_of(self.refusal).title if self.refusal else ""

    @property
    def faulty(self) -> AskedForm | None:
        """The form as it was filled in, where it has to be shown again."""
        return self.form if self.answer is None else None


def ask(form: AskedForm, act: Callable[[], Answer]) -> Asked:
    """Do what a form asks for, if it is filled in."""
    if not form.is_valid():
        return Asked(form)
    try:
        return Asked(form, act())
    except NotFound:
        raise
    except InputError as refusal:
        form.add_faults(refusal.errors)
        return Asked(form)
    except ClearanceError as refusal:
        return Asked(form, refusal=refusal)


def onward(request: HttpRequest, asked: Asked, in_force: str, to: str) -> HttpResponse | None:
    """On to the page `to`, which says what became of the request.

    None where something is left to show here: a fault, a refusal, a password or token.
    """
    answer = asked.answer
    if answer is None or answer.shown_once:
        return None
    if answer.waiting is not None:
        messages.warning(request, answer.because)
    else:
        messages.success(request, in_force)
    return see_other(to)
