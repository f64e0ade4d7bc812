"""What each agent would do about a run, as a function of what it read. Asking is the business of `errands`."""

from collections.abc import Iterator, Mapping
from typing import Any

from console.demo_agents import reports
from console.demo_agents.desk import Answer, Desk
from console.demo_agents.errands import Proposal, Run, command
from console.demo_agents.reading import amount_for, category_of, half_of, is_urgent, other_payee, words_of

JSON = Any

#: Who looks after the cases of a category.
TEAMS = {"damage": "claims desk", "billing": "accounts", "delay": "carriers", "other": "customer care"}


def _is_open_case(run: Run) -> bool:
    return run.workflow == "refund" and run.fields["case_state"] == "open" and run.status in ("received", "working")


def _evidence(run: Run) -> list[str]:
    return [f"message:{message['id']}" for message in run.fields["messages"]]


def _is_at_work(run: Run) -> bool:
    return run.workflow == "report" and run.status in ("received", "working")


# ---- the classifier --------------------------------------------------------------------------------------


def classifier(run: Run) -> Iterator[Proposal]:
    """Categorises cases, tags and assigns them; does the research for reports."""
    if _is_open_case(run):
        yield from _classify(run)
    if _is_at_work(run):
        yield reports.research(run)


def _classify(run: Run) -> Iterator[Proposal]:
    words, fields = words_of(run.fields), run.fields
    category = fields["category"]
    if category is None:
        found = category_of(words)
        reason = f"The customer's words point to {found}."
        yield command("set-category", {"category": found}, reason, 7, evidence=_evidence(run))
    if is_urgent(words) and "urgent" not in fields["tags"]:
        yield command("add-tag", {"tag": "urgent"}, "The customer needs it soon.", 2, about="urgent")
    if category is not None and fields["assigned_owner"] is None:
        reason = f"Cases of {category} go there."
        yield command("assign", {"assigned_owner": TEAMS[category]}, reason, 3)


# ---- the pricing agent -----------------------------------------------------------------------------------


def pricing(run: Run) -> Iterator[Proposal]:
    """Sets what is due and prepares payments; calculates for reports, and coordinates them."""
    if _is_open_case(run):
        yield from _price(run)
    if _is_at_work(run):
        if run.status == "received":
            yield command("start", {}, "A report was asked for.", 3)
        yield reports.calculation(run)
        if run.status == "working":
            yield reports.send(run)
    if run.workflow == "report" and run.status == "ready_for_review":
        yield reports.authorization(run)


def _price(run: Run) -> Iterator[Proposal]:
    fields = run.fields
    category, amount = fields["category"], fields["refund_amount"]
    if category is None:
        return
    due = amount_for(words_of(fields), category)
    if amount is None and due is not None:
        params = {"amount": due, "currency": fields["currency"]}
        reason = f"The policy table gives {due} for {category}."
        yield command("set-refund-amount", params, reason, 8, evidence=_evidence(run), about=due)
    if amount is not None and run.status == "working":
        yield _payment(run)


def _payment(run: Run) -> Proposal:
    fields = run.fields
    about = f"{fields['refund_amount']}-{fields['currency']}-{fields['recipient']}"
    body = {"action": "pay", "reason": "Category and amount are set.", "evidence": _evidence(run)}

    def build(desk: Desk) -> Mapping[str, JSON] | None:
        """Nothing is put under review while it is not legal, such as while an operator has yet to settle the amount."""
        steps = desk.get(f"/runs/{run.key}/next/").body.get("steps", ())
        return body if any(step["step"] == "action:pay" and step["legal"] for step in steps) else None

    return Proposal(f"pay:{about}", "snapshots/", build, think_seconds=6)


def leave_to_a_person(run: Run, proposal: Proposal, answer: Answer) -> Iterator[Proposal]:
    """What is above the agent's limit is noted for the people who read the case."""
    if answer.code == "limit-exceeded":
        text = f"{answer.body['detail']} The policy table gives {answer.body['actual']}."
        yield command("add-note", {"note": {"id": "above-limit", "text": text}}, "A person has to set it.", 1)


# ---- a person who corrects -------------------------------------------------------------------------------


def operator(run: Run) -> Iterator[Proposal]:
    """Corrects what people know better: a scripted person, so that there is somebody to clash with."""
    yield from _correct_payee(run)
    if not _is_open_case(run):
        return
    words, fields = words_of(run.fields), run.fields
    if "sent this twice" in words:
        yield command("close-case", {}, "A duplicate: the other case goes on.", 3)
    if "My bank shows" in words and fields["category"] is None:
        yield command("set-category", {"category": "billing"}, "I have the bank statement here.", 3)
    if "half of the set" in words and fields["category"] is not None and fields["refund_amount"] is None:
        price = amount_for(words, "damage") or "10.00"
        params = {"amount": half_of(price), "currency": fields["currency"]}
        yield command("set-refund-amount", params, "Half of the set can still be sold.", 3)


def _correct_payee(run: Run) -> Iterator[Proposal]:
    """Also while it is under review: then what was frozen no longer stands, and is frozen anew."""
    if run.workflow != "refund" or run.fields["case_state"] != "open" or run.fields["category"] is None:
        return
    payee = other_payee(words_of(run.fields))
    if payee and run.fields["recipient"] != payee:
        yield command("set-recipient", {"recipient": payee}, "As the customer asked, after a call back.", 3)
