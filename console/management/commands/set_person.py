"""`manage.py set_person`: other roles, other groups or another password for a person. What is not named stays."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from console.management.acting import ActingCommand, Plan, describe, password_from
from runs.administration import By, get_person, set_person
from runs.loosening import Standing, gained
from runs.people import require_acceptable
from runs.states import Role


class Command(ActingCommand):
    help = "Replace the roles, the groups or the password of a person. A new password ends every session of theirs."

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")
        roles, groups = parser.add_mutually_exclusive_group(), parser.add_mutually_exclusive_group()
        roles.add_argument("--role", nargs="+", action="extend", choices=[role.value for role in Role])
        roles.add_argument("--no-roles", dest="role", action="store_const", const=[], help="take every role away")
        groups.add_argument("--group", nargs="+", action="extend", help="made when missing")
        groups.add_argument("--no-groups", dest="group", action="store_const", const=[], help="take every group away")
        parser.add_argument("--password-env", metavar="VAR", help="the environment variable that holds a new password")

    def plan(self, options: dict[str, Any]) -> Plan:
        username, roles, groups, variable = (options[name] for name in ("username", "role", "group", "password_env"))
        if roles is None and groups is None and variable is None:
            raise CommandError("Nothing to change: name roles, groups or a password.")
        person = get_person(username)
        require_acceptable(username, roles or (), groups or ())
        before = Standing(frozenset(person.roles), frozenset(person.workflow_groups), person.is_active)
        wanted = Standing(
            before.roles if roles is None else frozenset(roles),
            before.groups if groups is None else frozenset(groups),
            before.is_active,
        )
        password = password_from(variable) if variable else None

        def act(by: By) -> None:
            chosen = None if roles is None else [Role(role) for role in roles]
            set_person(username, by, roles=chosen, groups=groups, password=password)

        gains = gained(before, wanted)
        if password and before.decides:
            gains.append("a new password")
        return Plan(f"give {username} {describe(wanted)}{'; a new password' if password else ''}", gains, act)
