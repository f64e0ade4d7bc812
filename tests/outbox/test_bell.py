"""The bell: nothing that goes wrong with it reaches a commit, and while it is down nobody is kept waiting twice."""

from collections.abc import Callable
from types import SimpleNamespace

import pytest
from kombu.exceptions import OperationalError as BrokerError
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeout

from outbox import bell
from outbox.leases import due_operations
from tests import cast, review
from tests.review import REFUND

pytestmark = pytest.mark.django_db(transaction=True)

FAILURES = [BrokerError, RedisError, RedisTimeout, ConnectionResetError]


class Broker:
    """What takes messages, or fails to."""

    def __init__(self) -> None:
        self.rung: list[tuple[str, str]] = []
        self.failure: type[Exception] | None = None

    def send_task(self, task: str, args: list[str], *, retry: bool) -> None:
        self.rung.append((task, args[0]))
        if self.failure is not None:
            raise self.failure


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    broker = Broker()
    monkeypatch.setattr(bell, "current_app", broker)
    return broker


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Let the clock of the bell go on."""
    clock = [1000.0]
    monkeypatch.setattr(bell, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    return lambda seconds: clock.__setitem__(0, clock[0] + seconds)


def test_a_commit_rings_for_its_effect(broker: Broker) -> None:
    effect = review.refund_approved()

    assert broker.rung == [(bell.DISPATCH, effect.pk)]


@pytest.mark.parametrize("failure", FAILURES)
def test_what_goes_wrong_with_the_bell_changes_nothing_of_what_was_committed(
    broker: Broker, failure: type[Exception]
) -> None:
    broker.failure = failure

    effect = review.refund_approved()

    assert (effect.state, cast.reading(REFUND).state.status) == ("pending", "approved")
    assert due_operations(10) == [effect.pk]  # the sweep will find it


def test_while_the_bell_is_down_only_one_finds_out_and_the_others_are_not_kept_waiting(
    broker: Broker, later: Callable[[float], None]
) -> None:
    broker.failure = BrokerError
    review.refund_approved("R-1")
    review.refund_approved("R-2")
    assert [number for _, number in broker.rung] == ["R-1:pay:v4"]

    broker.failure = None
    later(bell.QUIET_SECONDS - 1)
    review.refund_approved("R-3")
    assert [number for _, number in broker.rung] == ["R-1:pay:v4"]

    later(1)
    effect = review.refund_approved("R-4")
    assert [number for _, number in broker.rung] == ["R-1:pay:v4", effect.pk]
