"""What an action sends and shows: its payload template, its sentence, what it compensates, how it is measured.

Pure.
"""

from runs.definitions import Action, Workflow
from runs.fields import FieldKind
from runs.loading.faults import FaultCode, Findings
from runs.loading.fields import is_amount
from runs.loading.placeholders import has_braces, has_stray_brace, placeholders_in, whole_placeholder


def check_payloads(workflow: Workflow, findings: Findings) -> None:
    """Name everything that an action cannot send or show, or that reviewers would see but not approve."""
    for action in workflow.actions.values():
        _check_compensated(workflow, action, findings)
        _check_payload(workflow, action, findings)
        _check_sentence(workflow, action, findings)
        _check_standing(workflow, action, findings)


def _check_compensated(workflow: Workflow, action: Action, findings: Findings) -> None:
    if action.compensates is None:
        return
    place = f"actions.{action.name}.compensates"
    compensated = workflow.actions.get(action.compensates)
    if compensated is None:
        findings.refuse(place, FaultCode.UNKNOWN_ACTION, f"No action is called “{action.compensates}”.")
    elif compensated.compensates is not None:
        findings.refuse(place, FaultCode.NOT_COMPENSABLE, "A compensation is not compensated itself.")


# ---- placeholders ----------------------------------------------------------------------------------------


def _check_payload(workflow: Workflow, action: Action, findings: Findings) -> None:
    """A member is one placeholder or plain text, so that what it shows is known by name."""
    for member, text in (action.payload or {}).items():
        place = f"actions.{action.name}.payload.{member}"
        placeholder = whole_placeholder(text)
        if placeholder is not None:
            _check_placeholder(workflow, action, placeholder, place, findings)
        elif has_braces(text):
            words = 'A placeholder is the whole value of its member: `"{fields.name}"`.'
            findings.refuse(place, FaultCode.PLACEHOLDER_FORM, words)


def _check_sentence(workflow: Workflow, action: Action, findings: Findings) -> None:
    """The sentence is made of what was frozen: members of the payload and facts of consent."""
    place = f"actions.{action.name}.sentence"
    if has_stray_brace(action.sentence):
        findings.refuse(place, FaultCode.PLACEHOLDER_FORM, "This has a brace that belongs to no placeholder.")
    for name in placeholders_in(action.sentence):
        source, _, rest = name.partition(".")
        if source == "payload":
            _check_member(action, rest, place, findings)
        elif source == "fields" and rest in workflow.fields.keys() - workflow.facts_of_consent(action):
            words = f"Reviewers would see `{rest}` but not approve it: name it in `reads`."
            findings.refuse(place, FaultCode.NOT_A_FACT, words)
        else:
            _check_placeholder(workflow, action, name, place, findings)


def _check_member(action: Action, member: str, place: str, findings: Findings) -> None:
    if findings.touches(f"actions.{action.name}.payload"):
        return
    if action.payload is None:
        words = "The payload is supplied with the request: its members are not known here."
        findings.refuse(place, FaultCode.UNKNOWN_PLACEHOLDER, words)
    elif member not in action.payload:
        findings.refuse(place, FaultCode.UNKNOWN_PLACEHOLDER, f"The payload has no member “{member}”.")


def _check_placeholder(workflow: Workflow, action: Action, name: str, place: str, findings: Findings) -> None:
    source, _, rest = name.partition(".")
    if source == "fields" and rest not in workflow.fields:
        findings.refuse(place, FaultCode.UNKNOWN_FIELD, f"No field is called “{rest}”.")
    elif source == "effect":
        _check_effect(workflow, action, rest, place, findings)
    elif source != "fields" and name != "run.key":
        findings.refuse(place, FaultCode.UNKNOWN_PLACEHOLDER, f"“{{{name}}}” stands for nothing here.")


def _check_effect(workflow: Workflow, action: Action, name: str, place: str, findings: Findings) -> None:
    """A compensation may show the operation that it compensates and what that sent."""
    if action.compensates is None:
        words = f"“{{effect.{name}}}” stands for something only in an action that compensates another."
        findings.refuse(place, FaultCode.UNKNOWN_PLACEHOLDER, words)
        return
    compensated = workflow.actions.get(action.compensates)
    if compensated is None or findings.touches(f"actions.{action.compensates}.payload"):
        return
    known = {"operation_id", *(f"payload.{member}" for member in compensated.payload or {})}
    if name not in known:
        words = f"“{action.compensates}” has no “{name}”, only {', '.join(sorted(known))}."
        findings.refuse(place, FaultCode.UNKNOWN_PLACEHOLDER, words)


# ---- standing approvals ----------------------------------------------------------------------------------


def _check_standing(workflow: Workflow, action: Action, findings: Findings) -> None:
    """A standing approval is measured by what is paid, or it would measure nothing."""
    for measure, name in (action.standing or {}).items():
        place = f"actions.{action.name}.standing.{measure}"
        field = workflow.fields.get(name)
        if field is None or findings.touches(place, f"actions.{action.name}.payload", f"fields.{name}"):
            continue
        if field.kind is not FieldKind.EXCLUSIVE or name not in action.payload_fields:
            words = f"The payload must show `{name}`, an exclusive field, by which a standing approval is measured."
            findings.refuse(place, FaultCode.STANDING_NOT_PAID, words)
        elif measure == "amount" and not is_amount(field):
            findings.refuse(place, FaultCode.NOT_DECIMAL, f"`{name}` could hold something else than a decimal number.")
