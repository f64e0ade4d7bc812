"""`manage.py create_agent`: an agent and its token, which is printed alone and kept only as a hash."""

from argparse import ArgumentParser, ArgumentTypeError
from datetime import timedelta
from typing import Any

from console.management.acting import ActingCommand, Plan
from runs.administration import AgentTerms, By, create_agent, taken
from runs.agents import require_acceptable
from runs.loading.forms import DURATION, seconds_of
from runs.models import Agent


class Command(ActingCommand):
    help = "Create an agent. Its token is printed, alone, on standard output, and never shown again."
    needs_reason = False

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--owner", required=True, metavar="USERNAME", help="the person who answers for it")
        parser.add_argument("--workflow", nargs="+", action="extend", required=True)
        parser.add_argument("--scope", nargs="+", action="extend", required=True)
        parser.add_argument("--on-behalf-of", nargs="+", action="extend", default=[], metavar="USERNAME")
        parser.add_argument("--expires", type=_duration, help="when the token ends, such as 90d (default: never)")

    def plan(self, options: dict[str, Any]) -> Plan:
        name = options["name"]
        terms = AgentTerms(
            owner=options["owner"],
            workflows=tuple(options["workflow"]),
            scopes=tuple(options["scope"]),
            grants=tuple(options["on_behalf_of"]),
            expires_in=options["expires"],
        )
        require_acceptable(name, terms)
        if Agent.objects.filter(name=name).exists():
            raise taken("name", name)

        def act(by: By) -> str:
            return create_agent(name, terms, by).token

        words = f"create the agent {name} of {terms.owner} for {', '.join(terms.workflows)}"
        return Plan(f"{words} with {', '.join(terms.scopes)}", [], act)


def _duration(text: str) -> timedelta:
    if not DURATION.fits(text):
        raise ArgumentTypeError(f"write {DURATION.words}")
    return timedelta(seconds=seconds_of(text))
