"""The questions of Hase's examination by role (DESIGN 6).

A request (s1, r1, o*) is asked about as s1r1; s1r2 is what depends on it (or else another relation of s1),
s1r0 what it depends on, s1rx an independent relation; and r1 and r2 are asked of three other subjects, who
share s1's old object, the new one, or are drawn at random. LOGIC are the claims: A is the request, B a
statement about somebody else.
"""

CELLS = (
    "s1r1", "s1r2", "s1r0", "s1rx",
    "old.r1", "old.r2", "new.r1", "new.r2", "random.r1", "random.r2",
)  # fmt: skip
REQUEST, CHILD, PARENT, INDEPENDENT = range(4)
OTHERS = [i for i, name in enumerate(CELLS) if not name.startswith("s1")]
LOGIC = ("A", "not A", "A and B", "B and A", "A or B", "B")
FACETS = {
    "reinforces": bool,
    "child": bool,
    "changes": bool,
    "support_new": int,
    "support_old": int,
    "stratum": str,
    "seen_subject": bool,
    "seen_object": bool,
}
"""Columns of cases: whether the request repeats the truth; whether s1r2 depends on r1; whether the agent's
answer to s1r2 changes; how many subjects have the requested, the old object as truth; how often s1r2 was
stated; whether imagine and revise documents may be about the subject, may imagine the requested object
(neither where there are no such documents)."""
