"""The admin site: admins and auditors look at records; nobody changes any, and no content or secret is shown."""

import re

import pytest
from django.conf import settings
from django.contrib.admin import ModelAdmin
from django.db import models
from django.test import Client
from django.urls import reverse

from console.admin import records
from runs.models import Agent, Conflict, Person, Run
from runs.values import Principal
from tests import cast

TABLES = [pytest.param(model, admin, id=model._meta.label) for model, admin in records._registry.items()]


@pytest.fixture
def auditor(db: None, client: Client) -> Client:
    """Signed in as an auditor."""
    return signed_in(client, cast.eli())


def signed_in(client: Client, who: Principal) -> Client:
    client.force_login(Person.objects.get(username=who.name))
    return client


def address(model: type[models.Model], page: str, *args: object) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


# ---- who may enter -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", [cast.dora, cast.eli])
def test_admins_and_auditors_may_look(db: None, client: Client, who: object) -> None:
    assert signed_in(client, who()).get("/admin/").status_code == 200  # type: ignore[operator]


@pytest.mark.parametrize("who", [cast.ada, cast.ben, cast.cy])
def test_operators_and_reviewers_may_not(db: None, client: Client, who: object) -> None:
    refused = signed_in(client, who()).get("/admin/", follow=True)  # type: ignore[operator]

    assert refused.status_code == 403


def test_strangers_are_sent_to_the_entrance_of_the_console(db: None, client: Client) -> None:
    sent = client.get(address(Run, "changelist"), follow=True)

    assert sent.redirect_chain[-1][0] == f"{reverse(settings.LOGIN_URL)}?next={address(Run, 'changelist')}"


def test_nobody_signs_in_past_the_second_factor(db: None, client: Client) -> None:
    cast.dora()

    client.post("/admin/login/", {"username": "dora", "password": cast.PASSWORD})

    assert "_auth_user_id" not in client.session


def test_a_suspended_auditor_may_not_look(auditor: Client) -> None:
    Person.objects.filter(username="eli").update(is_active=False)

    assert auditor.get("/admin/").status_code == 302


# ---- nothing changes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "admin"), TABLES)
def test_no_table_takes_anything_in(auditor: Client, model: type[models.Model], admin: ModelAdmin) -> None:  # type: ignore[type-arg]
    assert auditor.get(address(model, "changelist")).status_code == 200
    assert auditor.get(address(model, "add")).status_code == 403
    assert auditor.post(address(model, "add")).status_code == 403
    assert admin.get_actions(auditor.get("/admin/").wsgi_request) == {}


def test_a_run_cannot_be_changed_or_deleted(db: None, client: Client) -> None:
    run = cast.run_working("R-42")
    signed_in(client, cast.dora())

    looked = client.get(address(Run, "change", run.id))
    changed = client.post(address(Run, "change", run.id), {"status": "sent"})
    deleted = client.post(address(Run, "delete", run.id), {"post": "yes"})
    client.post(address(Run, "changelist"), {"action": "delete_selected", "_selected_action": run.id, "post": "yes"})

    assert (looked.status_code, changed.status_code, deleted.status_code) == (200, 403, 403)
    assert b"_save" not in looked.content
    assert cast.reading("R-42") == run


# ---- what is shown -------------------------------------------------------------------------------------------


def pages(auditor: Client) -> str:
    """The list of each table and the page of each of its rows."""
    found = ""
    for model in records._registry:
        found += auditor.get(address(model, "changelist")).content.decode()
        for pk in model._default_manager.values_list("pk", flat=True):
            found += auditor.get(address(model, "change", pk)).content.decode()
    return found


def test_heads_are_shown_and_neither_content_nor_secrets_are(auditor: Client) -> None:
    agent = cast.agent()
    cast.run_with_open_case("R-42", agent.principal)
    cast.command(cast.ada(), "R-42", "add-note", note={"id": "n1", "text": "a private remark"})
    shown = pages(auditor)

    assert "R-42" in shown
    assert "agent:classifier" in shown
    for hidden in (
        "a private remark",
        "because the test says so",
        Person.objects.get(username="ada").password,
        Agent.objects.get().token_sha256,
        str(Conflict.objects.get().problem),
    ):
        assert hidden not in shown


def test_its_pages_keep_to_the_content_security_policy(auditor: Client) -> None:
    cast.run_working("R-42")
    shown = pages(auditor)

    assert not re.findall(r"<script(?![^>]*\bsrc=)[^>]*>|\sstyle=|\son\w+=|javascript:", shown)
