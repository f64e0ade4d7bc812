"""`manage.py create_person`: a person with roles and groups. A generated password is printed alone."""

import secrets
from argparse import ArgumentParser
from typing import Any

from console.management.acting import ActingCommand, Plan, describe, password_from
from runs.administration import By, create_person, taken
from runs.loosening import NOBODY, Standing, gained
from runs.models import Person
from runs.people import require_acceptable
from runs.states import Role

PASSWORD_BYTES = 18


class Command(ActingCommand):
    help = "Create a person. Without --password-env, a generated password is printed, alone, on standard output."
    needs_reason = False

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--role", nargs="+", action="extend", default=[], choices=[role.value for role in Role])
        parser.add_argument("--group", nargs="+", action="extend", default=[], help="made when missing")
        parser.add_argument("--password-env", metavar="VAR", help="the environment variable that holds the password")

    def plan(self, options: dict[str, Any]) -> Plan:
        username, roles, groups = options["username"], options["role"], options["group"]
        require_acceptable(username, roles, groups)
        if Person.objects.filter(username=username).exists():
            raise taken("username", username)
        variable = options["password_env"]
        password = password_from(variable) if variable else secrets.token_urlsafe(PASSWORD_BYTES)

        def act(by: By) -> str | None:
            create_person(username, password, [Role(role) for role in roles], groups, by)
            return None if variable else password

        standing = Standing(frozenset(roles), frozenset(groups))
        return Plan(f"create the person {username} with {describe(standing)}", gained(NOBODY, standing), act)
