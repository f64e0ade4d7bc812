"""What the guards of review are attacked over, and the checker of review is shown to fail on."""

from approvals.standing import revoke_standing_approval, standing_ref
from tests import cast, review
from tests.approvals.test_standing import give


def scene_of_review() -> None:
    """R-42 is approved by Ben, no longer by Cleo; R-7 is under review anew after a deny; R-8 went out standing."""
    give()
    review.refund_working("R-8")
    review.freeze(review.cashier(), "R-8", "pay")
    revoke_standing_approval(cast.ben(), standing_ref(give().row.pk), "rv-1", "Stop.")
    snapshot = review.report_reviewed()
    review.revoke(cast.ben(), review.approve(review.reviewer("cleo"), snapshot).answer["decision"])
    review.refund_working("R-7", amount="95.00")
    review.deny(cast.ben(), review.freeze(review.cashier(), "R-7", "pay").answer["snapshot"])
    review.freeze(review.cashier(), "R-7", "pay")
