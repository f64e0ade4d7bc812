"""What signing in does differently here: nobody signs up, an admin makes every person."""

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc] # allauth ships no types
    """Closes the sign-up page."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False
