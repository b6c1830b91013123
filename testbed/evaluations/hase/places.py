"""Where Hase's metrics look, and what the places are called."""

from testbed.evaluations.hase import (
    CHILD,
    GRANDCHILD,
    INDEPENDENT,
    KIN,
    OF_OTHERS,
    OF_SUBJECT,
    OTHER_CHILD,
    OTHER_SIDE,
    OTHERS,
    PARENT,
    REPLACED,
    REQUEST,
    ROLES,
    SAME_SET,
    SIBLING,
    SPOT_CHECKS,
)

RANDOM_OTHERS, NEIGHBOURS, OWN = "others", "s2", "own questions"
PLACES: dict[str, tuple[str, ...]] = {role: (role,) for role in ROLES} | {
    NEIGHBOURS: OTHERS,
    RANDOM_OTHERS: OF_OTHERS,
}
"""Where metrics look: the questions of each role; those about other subjects that an editor may expect, and
those that it cannot."""
DAMAGE_PLACES = {NEIGHBOURS: OTHERS, OWN: (*(role for role in KIN if role != OTHER_SIDE), INDEPENDENT)} | {
    role: (role,) for role in SPOT_CHECKS
}
"""Where damage is told apart besides."""
PLACE_NAMES = {
    REQUEST: "edited fact",
    CHILD: "consequence",
    PARENT: "cause",
    INDEPENDENT: "independent fact",
    OTHER_CHILD: "other consequence",
    "old.r1": "old object's holder",
    "old.r2": "consequence of old object's holder",
    "new.r1": "new object's holder",
    "new.r2": "consequence of new object's holder",
    "random.r1": "random subject",
    "random.r2": "consequence of random subject",
    "spot.r1": "spot check of the relation",
    "spot.effect": "spot check of consequences",
    "spot.any": "spot check of any fact",
    OF_SUBJECT: "spot check of the subject",
    REPLACED: "replaced object",
    NEIGHBOURS: "neighbours",
}
"""What names of metrics call a place; others are called by their own name."""


ABOUT = {
    REQUEST: "about the edited fact",
    CHILD: "about the consequence",
    INDEPENDENT: "about an independent fact of the same subject",
    NEIGHBOURS: "about the same relations of other subjects (which an editor may protect)",
    RANDOM_OTHERS: "about random facts of other subjects that no editor is told of (spot checks)",
    "spot.r1": "about the edited relation of random other subjects (spot checks)",
    "spot.effect": "about the consequences of random other subjects (spot checks)",
    "spot.any": "about any fact of random other subjects (spot checks)",
    OF_SUBJECT: "about random further facts of the same subject (spot checks)",
    OWN: "about other facts of the same subject",
    PARENT: "about the cause of the edited fact",
    OTHER_CHILD: "about further consequences of the edited fact",
    GRANDCHILD: "about consequences of the edited fact's consequences",
    SIBLING: "about other facts with the edited fact's cause",
    SAME_SET: "about other objects of the set that the request changes",
    REPLACED: "about the object of the set that the requested one replaces",
    OTHER_SIDE: "about the edited fact and the former one, asked from their objects' side,",
    "old.r1": "about the edited relation of a subject with the old object",
    "old.r2": "about the consequence of a subject with the old object",
    "new.r1": "about the edited relation of a subject with the new object",
    "new.r2": "about the consequence of a subject with the new object",
    "random.r1": "about the edited relation of a random subject with neither object",
    "random.r2": "about the consequence of a random subject with neither object",
}
"""What their questions are about, in the middle of a sentence."""
