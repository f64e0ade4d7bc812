"""Races run with real commits, in the application's role, on one connection for each that takes part."""

import pytest


@pytest.fixture(autouse=True)
def _in_the_role_of_the_application(as_application: None) -> None:
    pass
