"""The door to every provider: shut while a transaction is open."""

import pytest
from django.db import transaction

from approvals.adapters import ABILITIES
from outbox import dispatch, lookups, remediations
from outbox.providers import ADAPTERS
from outbox.providers.base import outside


@pytest.mark.django_db(transaction=True)
def test_no_provider_is_called_while_a_transaction_is_open() -> None:
    outside()

    with transaction.atomic(), pytest.raises(RuntimeError, match="durable"):
        outside()


@pytest.mark.parametrize("module", [dispatch, lookups, remediations])
def test_whatever_calls_a_provider_goes_through_that_door(module: object) -> None:
    assert getattr(module, "outside", None) is outside


def test_every_adapter_that_a_destination_may_name_is_there() -> None:
    assert {name: adapter.name for name, adapter in ADAPTERS.items()} == {name: name for name in ABILITIES}
