"""What must always hold of runs and their records, checked against everything that is stored.

Reads only, in the one snapshot of `frozen_view`, row by row: it is safe on a live system and needs no more memory
on a large one. A check yields what breaks its rules; nothing yielded means that they hold.
"""

from runs.verify.checks import Check
from runs.verify.ledger import LEDGERS
from runs.verify.records import RECORDS

#: Every check of this app. Other apps have a list of this name, and the command joins them.
INVARIANTS: tuple[Check, ...] = (LEDGERS, *RECORDS)
