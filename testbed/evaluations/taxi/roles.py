"""What TAXI's examination asks, in its own words.

An edit makes a subject a member of another category of its superordinate. EDIT asks for its category,
PROPERTY for a property that both categories have, each over a few options; REVERSE asks the same the other
way round: which subject is one, or has it. GONE asks for properties that only one of the categories has, and
OTHER for facts of other subjects, over all candidates.
"""

from bayes.interface import RequestKind
from testbed.evaluations.held_out import HELD_OUT_FACETS

EDIT, PROPERTY, REVERSE, GONE, OTHER = "edit", "property", "reverse", "absent", "other"
READINGS: tuple[RequestKind, ...] = ("do", "correction")
"""What the request is to the agent. Under `do` the category is changed and its properties are drawn again,
which is what TAXI's labels say; a correction keeps what was stated of the subject."""
FACETS = {"superordinate": str, "typical": bool, "members": int} | HELD_OUT_FACETS
"""Columns of cases: the kind of thing; whether the subject is spoken of often; members of the new one;
and what was held out."""
OF_CHOICES = {"label": int, "old": int, "changed": bool, "stratum": str}
"""Columns of choices: the right answer, and that before the edit, ABSENT where the category has none; whether
TAXI says that they differ; how often the subject's fact was stated."""
