"""What LEME's examination asks, in its own words.

A fact of a subject is edited on which, by a link, a fact of a related entity depends: where a tower stands,
and where the park near it lies. The twin is an entity of the related one's kind with the same old object,
linked to somebody else.

EDIT asks for the edited fact, SYNONYM for it in other words, CHILD for what depends on it in the subject, OWN
for the subject's other facts; COUPLED for the fact of the related entity that depends on it, BELOW for what
depends on that one, BESIDE for the related entity's other facts; TWIN and TWIN_BESIDE for the twin's; OTHER
for other subjects. Passages are about SUBJECT, RELATED and TWIN.
"""

from bayes.interface import RequestKind

EDIT, SYNONYM, CHILD, OWN = "edit", "synonym", "child", "own"
COUPLED, BELOW, BESIDE = "coupled", "below", "beside"
TWIN, TWIN_BESIDE, OTHER = "twin", "twin beside", "other"
SUBJECT, RELATED = "subject", "related"
ABOUT = (SUBJECT, RELATED, TWIN)
"""Whom passages are about."""
FIRST: RequestKind = "do"
"""The first reading: the world changed, and what depends on the edited fact is drawn again."""
FACETS = {"couple": str, "related": int, "twin": int, "stated": bool, "request": str, "subject_name": str,
          "related_name": str}  # fmt: skip
"""Columns of cases: which relations are coupled; the related entity and the twin, ABSENT where there is none;
whether the edited fact was stated; the request as a sentence; what subject and related entity are called."""
OF_CHOICES = {"stratum": str, "true": str, "above": int, "above_relation": int, "given": tuple,
              "implied": tuple}  # fmt: skip
"""Columns of choices: how often the fact was stated; what is believed of it before, as a sentence; the
fact of the case on which it depends, ABSENT where it depends on none; p(object | object of that fact),
float64[T, objects above, objects] as one row; and of a coupled fact what the link implies for each object
above, ABSENT where nothing is likelier than not."""
