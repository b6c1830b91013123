"""The questions of Hase's examination by role (design.md 6).

A request (s1, r1, o*) is asked about as s1r1; s1r2 is what depends on it (or else another relation of s1),
s1r0 what it depends on, s1rx an independent relation. Of s1 are asked, too, whatever else depends on the
request, however far below it, and whatever depends on the same fact as the request does. r1 and r2 are asked
of three other subjects, who share s1's old object, the new one, or are drawn at random. Of the claims
(`testbed.evaluations.dutch_book`) A is the request, B a statement about somebody else.
"""

from testbed.evaluations.held_out import HELD_OUT_FACETS

REQUEST, CHILD, PARENT, INDEPENDENT = "s1r1", "s1r2", "s1r0", "s1rx"
OTHER_CHILD, GRANDCHILD, SIBLING = "other child", "grandchild", "sibling"
OTHERS = ("old.r1", "old.r2", "new.r1", "new.r2", "random.r1", "random.r2")
KIN = (CHILD, OTHER_CHILD, GRANDCHILD, PARENT, SIBLING)
"""What the agent may move besides the request, of the same subject. A grandchild depends on the request
through another fact or several; a case may have many of one role, but for s1r2 and s1r0."""
ROLES = (REQUEST, CHILD, PARENT, INDEPENDENT, *OTHERS, OTHER_CHILD, GRANDCHILD, SIBLING)
FACETS = {
    "reinforces": bool,
    "child": bool,
    "changes": bool,
    "support_new": int,
    "support_old": int,
    "stratum": str,
} | HELD_OUT_FACETS
"""Columns of cases: whether the request repeats the truth; whether s1r2 depends on r1; whether the agent's
answer to s1r2 changes; how many subjects have the requested, the old object as truth; how often s1r2 was
stated; and what was held out."""
