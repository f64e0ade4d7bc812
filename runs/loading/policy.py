"""Reading `[policy]` and `[create]`: who may do what, and on which terms, until people change it in the console.

Pure.
"""

from collections.abc import Mapping

from runs.definitions import Create, Policy
from runs.loading import forms
from runs.loading.faults import FaultCode
from runs.loading.fields import Fields, is_amount
from runs.loading.tables import Table
from runs.values import Budget

#: What can be kept for a time. What the definition does not name is kept until somebody erases it.
RETAINED = ("payload", "artifact", "checkpoint", "conflict", "ledger")


def read_policy(table: Table, fields: Fields) -> Policy:
    """The first policy of a workflow."""
    policy = Policy(
        operators=frozenset(table.texts("operators", forms.GROUP, at_least=1, required=True)),
        reviewers=frozenset(table.texts("reviewers", forms.GROUP, at_least=1, required=True)),
        quorum=table.integer("quorum", at_least=1),
        separation=table.word("separation", ("strict", "relaxed"), default="strict"),
        decision_expires_after=table.duration("decision_expires_after", "24h"),
        run_expires_after=table.duration("run_expires_after", "30d"),
        budget=_read_budget(table.table("budget")),
        limits=_read_limits(table.table("limits"), fields),
        retention=_read_retention(table.table("retention")),
        reauthenticate_within=_read_step_up(table),
    )
    table.close()
    return policy


def _read_step_up(table: Table) -> int | None:
    key = "reauthenticate_within"
    return table.duration(key) if table.has(key) else None


def _read_budget(table: Table) -> Budget:
    budget = Budget(table.integer("attempts", at_least=1, default=3), table.duration("elapsed", "10m"))
    table.close()
    return budget


def _read_limits(table: Table, fields: Fields) -> Mapping[str, str]:
    names = table.names()
    for name in names:
        field = fields.referred(name, table.at(name))
        if field is not None and not is_amount(field):
            words = f"A limit needs an exclusive field that holds decimal numbers only; `{name}` is none."
            table.refuse(name, FaultCode.NOT_DECIMAL, words)
    return {name: table.text(name, forms.AMOUNT) for name in names}


def _read_retention(table: Table) -> Mapping[str, int]:
    terms = {kind: table.duration(kind) for kind in RETAINED if table.has(kind)}
    table.close()
    return terms


def read_create(table: Table, fields: Fields) -> Create:
    """Who may create a run, and which fields that scope alone may set."""
    scope = table.text("scope", forms.SCOPE)
    create = Create(scope, fields.refer_all(table.texts("fields"), table.at("fields")))
    table.close()
    return create
