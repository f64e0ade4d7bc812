"""What becomes of every stale command, thought out by hand: one row per proposal, one column per competitor.

A proposal was computed from the base; the competitor was committed by somebody else before it arrived. A cell
is a disposition and, where a rule of the definition decided, the number of that rule:

    merge       nothing it reads or decides was touched        retry       read again and decide anew
    unsafe      escalated: a merge would undo the other's      escalate    an exclusive field it writes was touched
    so          rejected: already so                           illegal     rejected: no longer legal
    unchanged   the log holds this very item                   reused      the log holds another item of this id
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

JSON = Any
Table = dict[str, dict[str, str]]

# ---- who asks for what -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Move:
    """One step of a competitor or the step a proposal asks for: a command, or `freeze`, `deny`, `approve`."""

    name: str
    params: Mapping[str, JSON]


def move(name: str, **params: JSON) -> Move:
    return Move(name, params)


def message(id: str, text: str = "Where is my parcel?") -> dict[str, str]:
    return {"id": id, "from": "customer", "text": text}


def note(id: str, text: str = "Called the carrier.") -> dict[str, str]:
    return {"id": id, "text": text}


REFUND_FIELDS: dict[str, JSON] = {
    "messages": [message("m1", "The lid arrived broken.")],
    "notes": [],
    "tags": ["vip"],
    "contact_attempts": 1,
    "category": "billing",
    "case_state": "open",
    "assigned_owner": "jonas",
    "refund_amount": "30.00",
    "currency": "EUR",
    "recipient": "Ana Lima",
}

REFUND_PROPOSALS = {
    "add-message": move("add-message", message=message("m9")),
    "add-message-same": move("add-message", message=message("m2")),
    "add-message-other": move("add-message", message=message("m2", "Forget it.")),
    "add-note": move("add-note", note=note("n9")),
    "add-tag": move("add-tag", tag="photo"),
    "add-tag-vip": move("add-tag", tag="vip"),
    "add-tag-urgent": move("add-tag", tag="urgent"),
    "remove-tag-vip": move("remove-tag", tag="vip"),
    "remove-tag-urgent": move("remove-tag", tag="urgent"),
    "record-contact": move("record-contact"),
    "set-category": move("set-category", category="damage"),
    "set-category-same": move("set-category", category="other"),
    "set-amount": move("set-refund-amount", amount="60.00", currency="EUR"),
    "set-recipient": move("set-recipient", recipient="Ana Lima Souza"),
    "assign": move("assign", assigned_owner="lena"),
    "close-case": move("close-case"),
    "reopen-case": move("reopen-case"),
    "cancel": move("cancel"),
    "expire": move("expire"),
    "reopen": move("reopen"),
    "move": move("move-to-revision", revision=2),
    "pay": move("freeze:pay"),
    "recall": move("freeze:recall"),
}

REFUND_COMPETITORS = {
    "message": (move("add-message", message=message("m2")),),
    "note": (move("add-note", note=note("n1")),),
    "tag": (move("add-tag", tag="urgent"),),
    "untag": (move("remove-tag", tag="vip"),),
    "contact": (move("record-contact"),),
    "category": (move("set-category", category="other"),),
    "amount": (move("set-refund-amount", amount="45.00", currency="EUR"),),
    "recipient": (move("set-recipient", recipient="Rui Lima"),),
    "assign": (move("assign", assigned_owner="mara"),),
    "close": (move("close-case"),),
    "open": (move("reopen-case"),),
    "reclose": (move("close-case"), move("reopen-case")),
    "reshut": (move("reopen-case"), move("close-case")),
    "freeze": (move("freeze"),),
    "denied": (move("freeze"), move("deny")),
    "approved": (move("freeze"), move("approve")),
    "cancel": (move("cancel"),),
    "expire": (move("expire"),),
    "reopen": (move("reopen"),),
    "move": (move("move-to-revision", revision=2),),
}

REPORT_FIELDS: dict[str, JSON] = {
    "question": "Which depots lose parcels?",
    "audience": "The board",
    "notes": [],
    "tags": ["weekly"],
}

REPORT_PROPOSALS = {
    "start": move("start"),
    "set-question": move("set-question", question="Which carriers lose parcels?"),
    "set-audience": move("set-audience", audience="All depots"),
    "add-note": move("add-note", note=note("n9")),
    "add-tag": move("add-tag", tag="photo"),
    "add-tag-urgent": move("add-tag", tag="urgent"),
    "cancel": move("cancel"),
    "expire": move("expire"),
    "reopen": move("reopen"),
    "move": move("move-to-revision", revision=2),
    "send": move("freeze:send"),
}

REPORT_COMPETITORS = {
    "start": (move("start"),),
    "note": (move("add-note", note=note("n1")),),
    "tag": (move("add-tag", tag="urgent"),),
    "question": (move("set-question", question="Which depots are late?"),),
    "audience": (move("set-audience", audience="The regulator"),),
    "freeze": (move("freeze"),),
    "denied": (move("freeze"), move("deny")),
    "approved": (move("freeze"), move("approve")),
    "cancel": (move("cancel"),),
    "expire": (move("expire"),),
    "move": (move("move-to-revision", revision=2),),
}

# ---- the tables ------------------------------------------------------------------------------------------

#: The case is open and in handling.
REFUND_OPEN = """
                   message    note   tag    untag   contact  category     amount       recipient    assign
add-message        merge      merge  merge  merge   merge    merge        merge        merge        merge
add-message-same   unchanged  merge  merge  merge   merge    merge        merge        merge        merge
add-message-other  reused     merge  merge  merge   merge    merge        merge        merge        merge
add-note           merge      merge  merge  merge   merge    merge        merge        merge        merge
add-tag            merge      merge  merge  merge   merge    merge        merge        merge        merge
add-tag-vip        so         so     so     unsafe  so       so           so           so           so
add-tag-urgent     merge      merge  so     merge   merge    merge        merge        merge        merge
remove-tag-vip     merge      merge  merge  so      merge    merge        merge        merge        merge
remove-tag-urgent  so         so     unsafe so      so       so           so           so           so
record-contact     merge      merge  merge  merge   merge    merge        merge        merge        merge
set-category       retry[2]   merge  merge  merge   merge    escalate[1]  merge        merge        merge
set-category-same  retry[2]   merge  merge  merge   merge    so           merge        merge        merge
set-amount         retry[3]   merge  merge  merge   merge    merge        escalate[1]  escalate[1]  merge
set-recipient      merge      merge  merge  merge   merge    merge        escalate[1]  escalate[1]  merge
assign             merge      merge  merge  merge   merge    merge        merge        merge        escalate[0]
close-case         retry      retry  retry  retry   retry    retry        retry        retry        retry
reopen-case        so         so     so     so      so       so           so           so           so
cancel             retry      retry  retry  retry   retry    retry        retry        retry        retry
expire             retry      retry  retry  retry   retry    retry        retry        retry        retry
reopen             so         so     so     so      so       so           so           so           so
move               retry      retry  retry  retry   retry    retry        retry        retry        retry
pay                merge      merge  merge  merge   merge    merge        escalate[1]  escalate[1]  merge
recall             illegal    illegal illegal illegal illegal illegal     illegal      illegal      illegal
"""

#: The same base; what moved is the state of the case or of the run.
REFUND_OPEN_MOVED = """
                   close      reclose   freeze       denied  approved     cancel   expire   move
add-message        merge      merge     merge        merge   merge        illegal  illegal  merge
add-message-same   merge      merge     merge        merge   merge        illegal  illegal  merge
add-message-other  merge      merge     merge        merge   merge        illegal  illegal  merge
add-note           merge      merge     merge        merge   merge        illegal  illegal  merge
add-tag            merge      merge     merge        merge   illegal      illegal  illegal  merge
add-tag-vip        so         so        so           so      so           so       so       so
add-tag-urgent     merge      merge     merge        merge   illegal      illegal  illegal  merge
remove-tag-vip     merge      merge     merge        merge   illegal      illegal  illegal  merge
remove-tag-urgent  so         so        so           so      so           so       so       so
record-contact     merge      merge     merge        merge   illegal      illegal  illegal  merge
set-category       reject[0]  merge     illegal      merge   illegal      illegal  illegal  merge
set-category-same  reject[0]  merge     illegal      merge   illegal      illegal  illegal  merge
set-amount         reject[0]  merge     escalate[2]  merge   escalate[2]  illegal  illegal  merge
set-recipient      reject[0]  merge     escalate[2]  merge   escalate[2]  illegal  illegal  merge
assign             merge      merge     illegal      merge   illegal      illegal  illegal  merge
close-case         so         escalate  retry        retry   illegal      illegal  illegal  retry
reopen-case        escalate   so        so           so      so           so       so       so
cancel             retry      retry     retry        retry   illegal      so       illegal  retry
expire             retry      retry     retry        retry   illegal      illegal  so       retry
reopen             so         so        illegal      so      illegal      illegal  illegal  so
move               retry      retry     illegal      retry   illegal      illegal  illegal  so
pay                reject[0]  merge     retry[2]     retry[2] retry[2]    illegal  illegal  merge
recall             illegal    illegal   illegal      illegal illegal      illegal  illegal  illegal
"""

#: The refund was paid; the cycle has ended. Rules come before legality.
REFUND_SENT = """
                   message    note     tag      untag    contact  close      reopen
add-message        merge      merge    merge    merge    merge    merge      merge
add-note           merge      merge    merge    merge    merge    merge      merge
add-tag            merge      merge    merge    merge    merge    merge      merge
add-tag-vip        so         so       so       unsafe   so       so         so
add-tag-urgent     merge      merge    so       merge    merge    merge      merge
remove-tag-vip     merge      merge    merge    so       merge    merge      merge
remove-tag-urgent  so         so       unsafe   so       so       so         so
record-contact     merge      merge    merge    merge    merge    merge      merge
set-category       retry[2]   illegal  illegal  illegal  illegal  reject[0]  merge
set-amount         retry[3]   illegal  illegal  illegal  illegal  reject[0]  merge
set-recipient      illegal    illegal  illegal  illegal  illegal  reject[0]  merge
assign             illegal    illegal  illegal  illegal  illegal  illegal    merge
close-case         retry      retry    retry    retry    retry    so         retry
reopen-case        so         so       so       so       so       illegal    so
cancel             illegal    illegal  illegal  illegal  illegal  illegal    retry
expire             illegal    illegal  illegal  illegal  illegal  illegal    retry
reopen             retry      retry    retry    retry    retry    retry      so
move               illegal    illegal  illegal  illegal  illegal  illegal    retry
pay                illegal    illegal  illegal  illegal  illegal  reject[0]  merge
recall             retry      retry    retry    retry    retry    retry      illegal
"""

#: The case was closed while in handling.
REFUND_CLOSED = """
                   message    note     tag      assign       open      reshut     cancel
set-category       retry[2]   illegal  illegal  illegal      merge     reject[0]  illegal
set-amount         retry[3]   illegal  illegal  illegal      merge     reject[0]  illegal
set-recipient      illegal    illegal  illegal  illegal      merge     reject[0]  illegal
assign             merge      merge    merge    escalate[0]  merge     merge      illegal
close-case         so         so       so       so           escalate  so         so
reopen-case        retry      retry    retry    retry        so        escalate   illegal
"""

#: Nobody has started the report.
REPORT_RECEIVED = """
                start   note    tag     question     audience     cancel   expire   move
start           so      retry   retry   retry        retry        illegal  illegal  retry
set-question    retry   retry   retry   escalate[0]  retry        illegal  illegal  retry
set-audience    retry   retry   retry   retry        escalate[0]  illegal  illegal  retry
add-note        merge   merge   merge   merge        merge        illegal  illegal  merge
add-tag         merge   merge   merge   merge        merge        illegal  illegal  merge
add-tag-urgent  merge   merge   so      merge        merge        illegal  illegal  merge
cancel          retry   retry   retry   retry        retry        so       illegal  retry
expire          retry   retry   retry   retry        retry        illegal  so       retry
reopen          so      illegal illegal illegal      illegal      illegal  illegal  illegal
move            retry   retry   retry   retry        retry        illegal  illegal  so
send            retry   illegal illegal illegal      illegal      illegal  illegal  illegal
"""

#: The report is being worked on.
REPORT_WORKING = """
                note    tag     question     audience     freeze   denied  approved     cancel   expire   move
start           so      so      so           so           illegal  so      illegal      illegal  illegal  so
set-question    retry   retry   escalate[0]  retry        retry    retry   escalate[1]  illegal  illegal  retry
set-audience    retry   retry   retry        escalate[0]  retry    retry   escalate[1]  illegal  illegal  retry
add-note        merge   merge   merge        merge        illegal  merge   illegal      illegal  illegal  merge
add-tag         merge   merge   merge        merge        illegal  merge   illegal      illegal  illegal  merge
add-tag-urgent  merge   so      merge        merge        illegal  merge   illegal      illegal  illegal  merge
cancel          retry   retry   retry        retry        retry    retry   illegal      so       illegal  retry
expire          retry   retry   retry        retry        retry    retry   illegal      illegal  so       retry
reopen          so      so      so           so           illegal  so      illegal      illegal  illegal  so
move            retry   retry   retry        retry        illegal  retry   illegal      illegal  illegal  so
send            retry   retry   retry        retry        retry    retry   illegal      illegal  illegal  retry
"""


def read_table(text: str) -> Table:
    """A table as {column: {row: cell}}."""
    head, *rows = [line.split() for line in text.strip().splitlines()]
    return {column: {row[0]: row[1 + index] for row in rows} for index, column in enumerate(head)}


@dataclass(frozen=True, slots=True)
class Base:
    """Where proposals were computed: workflow, status and fields, with what they may meet there."""

    slug: str
    status: str
    fields: Mapping[str, JSON]
    table: Table
    proposals: Mapping[str, Move]
    competitors: Mapping[str, tuple[Move, ...]]


def _refund(status: str, *tables: str, **fields: JSON) -> Base:
    columns = {name: column for table in tables for name, column in read_table(table).items()}
    return Base("refund", status, REFUND_FIELDS | fields, columns, REFUND_PROPOSALS, REFUND_COMPETITORS)


def _report(status: str, table: str) -> Base:
    return Base("report", status, REPORT_FIELDS, read_table(table), REPORT_PROPOSALS, REPORT_COMPETITORS)


BASES = {
    "refund-new": _refund("received", REFUND_OPEN),
    "refund-open": _refund("working", REFUND_OPEN, REFUND_OPEN_MOVED),
    "refund-sent": _refund("sent", REFUND_SENT),
    "refund-closed": _refund("working", REFUND_CLOSED, case_state="closed"),
    "report-new": _report("received", REPORT_RECEIVED),
    "report-working": _report("working", REPORT_WORKING),
}

#: Every cell of every table: base, column.
COLUMNS = [(base, column) for base, found in BASES.items() for column in found.table]
