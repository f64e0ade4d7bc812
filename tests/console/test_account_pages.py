"""Signing in, second factors and passwords: every page that can be reached is ours and whole."""

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from runs.models import Person
from tests.cast import PASSWORD, person

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _site(settings: Settings) -> None:
    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if "whitenoise" not in name]
    settings.CACHES = {**settings.CACHES, "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}


@pytest.fixture
def mara() -> Person:
    person("mara")
    return Person.objects.get(username="mara")


@pytest.fixture
def signed_in(client: Client, mara: Person) -> Client:
    response = client.post(reverse("account_login"), {"login": "mara", "password": PASSWORD})
    assert response.status_code == 302
    response = client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    assert response.status_code == 302
    return client


def page(client: Client, route: str, **arguments: object) -> str:
    response = client.get(reverse(route, kwargs=arguments or None))
    assert response.status_code == 200, response
    return response.content.decode()


@pytest.mark.parametrize("route", ["account_login", "account_reset_password", "account_signup"])
def test_a_page_for_strangers_stands_on_our_base(client: Client, route: str) -> None:
    html = page(client, route)

    assert '<body class="entrance">' in html
    assert html.count("<main") == html.count("<h1") == 1


@pytest.mark.parametrize(
    "route",
    [
        "account_change_password",
        "mfa_index",
        "mfa_activate_totp",
        "mfa_add_webauthn",
        "mfa_list_webauthn",
        "account_logout",
    ],
)
def test_a_page_of_ones_own_account_stands_on_our_base(signed_in: Client, route: str) -> None:
    html = page(signed_in, route)

    assert html.count("<main") == html.count("<h1") == 1
    assert "css/theme.css" in html


def test_the_account_tabs_say_where_one_is(signed_in: Client) -> None:
    html = page(signed_in, "mfa_index")

    assert f'href="{reverse("mfa_index")}" aria-current="page"' in html


def test_a_wrong_password_is_told_beside_the_form_and_nothing_typed_is_lost(client: Client, mara: Person) -> None:
    response = client.post(reverse("account_login"), {"login": "mara", "password": "no"})

    html = response.content.decode()
    assert 'class="note tone-bad" role="alert"' in html
    assert 'value="mara"' in html
    assert 'value="no"' not in html


def test_the_secret_of_an_authenticator_app_is_drawn_without_a_data_url(signed_in: Client) -> None:
    html = page(signed_in, "mfa_activate_totp")

    assert '<svg class="qr"' in html
    assert "data:" not in html


def test_with_a_second_factor_every_page_about_it_is_there(signed_in: Client, mara: Person) -> None:
    TOTP.activate(mara, generate_totp_secret())
    key = Authenticator.objects.create(
        user=mara, type=Authenticator.Type.WEBAUTHN, data={"name": "<b>key</b>\u202e", "credential": {}}
    )
    signed_in.post(reverse("mfa_generate_recovery_codes"))

    for route in ("mfa_index", "mfa_deactivate_totp", "mfa_view_recovery_codes", "mfa_generate_recovery_codes"):
        assert page(signed_in, route).count("<h1") == 1
    for route in ("mfa_edit_webauthn", "mfa_remove_webauthn"):
        assert page(signed_in, route, pk=key.pk).count("<h1") == 1
    keys = page(signed_in, "mfa_list_webauthn")
    assert "<b>key</b>" not in keys
    assert "⟨U+202E⟩" in keys


def test_the_second_factor_is_asked_for_with_a_way_back(client: Client, mara: Person) -> None:
    TOTP.activate(mara, generate_totp_secret())

    response = client.post(reverse("account_login"), {"login": "mara", "password": PASSWORD}, follow=True)

    html = response.content.decode()
    assert "Second factor" in html
    assert "Back to sign in" in html
    assert html.count("<h1") == 1


def test_a_fresh_proof_is_asked_for_on_our_base(signed_in: Client) -> None:
    html = page(signed_in, "account_reauthenticate")

    assert "Confirm that it is you" in html
    assert html.count("<main") == 1


def test_a_suspended_person_is_told_so(client: Client, mara: Person) -> None:
    assert "This account is suspended" in page(client, "account_inactive")
