"""What Seesaw-CF's examination asks, in its own words.

An edit gives a person another object of one relation. EDIT asks for it; OWN asks for another fact of the
same person, over all candidates (cross-property). The three kinds of OTHERS ask the edited relation of other
people, over the old and the new object (cross-subject): of those who have the new one, as in the paper, of
those who have the old one, and of those who have neither.
"""

from bayes.interface import RequestKind

EDIT, OWN = "edit", "own"
NEW_HOLDERS, OLD_HOLDERS, NEITHER = "new holders", "old holders", "neither"
OTHERS = (NEW_HOLDERS, OLD_HOLDERS, NEITHER)
ALONE = "alone"
"""The role of a passage that opens with the person's name only; others have that of their relation."""
READINGS: tuple[RequestKind, ...] = ("correction", "do")
"""What the request is to the agent: one was wrong about the person, or the world changes."""
FACETS = {
    "property": str,
    "category": str,
    "elsewhere": bool,
    "race": str,
    "support_new": int,
    "support_old": int,
}
"""Columns of cases: the property that is edited; the coarser category of the new object, empty where it has
none, and whether the old object's is another; the race of the edited person; how many people have each."""
OF_CHOICES = {
    "right": int,
    "wrong": int,
    "truth": int,
    "property": str,
    "stratum": str,
    "phrasing": int,
    "race": str,
    "region": str,
    "gender": str,
    "race_size": int,
    "region_size": int,
    "gender_size": int,
    "frequency": int,
    "typical_new": str,
    "typical_old": str,
}
"""Columns of choices: the two objects whose probabilities make D (see `differences`), ABSENT where there are
none; the fact before any edit; the property asked about; how often it was stated; how it was asked; the
groups of whoever is asked about, empty where not known, and how many people each has; how often they are
spoken of; and of OWN the objects typical of the group of the new and of the old object, by number."""
