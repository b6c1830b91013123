"""Links: relations whose objects say on whose facts other relations depend, and what is not a link.

A park is near a tower, and lies in the city where the tower is: "lies in" depends on "located in" of another
subject, which "near" names. Links are part of what the agent is given, as dependences are, so they are true,
and no edit is about one. A subject may have several links, and others may depend on what depends on a link;
but a link leads to one subject, and of one relation only one fact may depend on it there: two parks near one
tower would be two draws of a row that nobody knows, which a pass over a tree cannot join.
"""

from collections.abc import Sequence

import numpy as np

from corpus.errors import InputError

NO_LINK = -1


def check_links(
    triples: np.ndarray,
    entities: Sequence[str],
    relations: Sequence[str],
    upstream: np.ndarray,
    via: np.ndarray,
) -> None:
    """Refuse links that do not lead to one other subject, or by which two subjects meet.

    Args:
        triples: int[facts, 3], subject, relation and object.

    Raises:
        InputError: a link that depends on a relation itself, or leads to nobody, to oneself, to several
            subjects, or to where another one leads already.
    """
    subjects = np.unique(triples[:, 0])
    for link in np.unique(via[via != NO_LINK]).tolist():
        name = relations[link]
        if upstream[link] >= 0 or via[link] != NO_LINK:
            raise InputError(
                f"the link {name!r} depends on another relation; links are given, so remove that dependence"
            )
        facts = triples[triples[:, 1] == link]
        for s, _, o in facts[facts[:, 0] == facts[:, 2]].tolist():
            raise InputError(
                f"{entities[s]!r} {name} itself ({entities[o]!r}); a link leads to another subject"
            )
        for s, _, o in facts[~np.isin(facts[:, 2], subjects)].tolist():
            raise InputError(
                f"{entities[s]!r} {name} {entities[o]!r}, about which the world has no fact; remove the link"
            )
        once, times = np.unique(facts[:, 0], return_counts=True)
        for s in once[times > 1].tolist():
            raise InputError(f"{entities[s]!r} has several objects of the link {name!r}; keep one of them")
        below = np.flatnonzero((via == link) & (upstream >= 0)).tolist()
        for r in below:
            followed = facts[np.isin(facts[:, 0], triples[triples[:, 1] == r, 0])]
            for o in _repeated(followed[:, 2]):
                first, second = (entities[s] for s in followed[followed[:, 2] == o, 0][:2].tolist())
                raise InputError(
                    f"{first!r} and {second!r} both have {relations[r]!r} from {entities[o]!r} by the link "
                    f"{name!r}; beliefs are exact only where one subject has, so keep one of the links"
                )


def _repeated(values: np.ndarray) -> list[int]:
    distinct, times = np.unique(values, return_counts=True)
    return distinct[times > 1].tolist()
