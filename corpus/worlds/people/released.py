"""Real people out of Seesaw-CF's released requests: those who are edited, and those who are asked about.

    seesaw_cf_P19_P101.json ...   cross-property cases: an edited property, and one that texts are about
    seesaw_cf_P101_eff.json ...   requests alone
    P101_subject_info.json ...    gender and ethnic groups of a few, straight from Wikidata

A request says what its subject truly has, and who is asked about has its new object. The authors' code
lists women first and then men, at most 100 of each, and draws another order for every request. So the
gender of those asked about follows from where they stand; it is left open where two requests or more do not
tell where men begin. A subject has no id, and is whoever of the others has that name alone.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from corpus.errors import InputError
from corpus.worlds.people import BORN, CITIZENSHIP, GENDER, LANGUAGE, WORK
from corpus.worlds.rawfiles import read_table_text
from corpus.worlds.selection import Facts

EDITED_PROPERTIES = {GENDER: 21, CITIZENSHIP: 27, LANGUAGE: 103, WORK: 101, BORN: 19}
ETHNIC_GROUP = 172
REQUESTS = (
    "P19_P101", "P19_P21", "P21_P101", "P27_P101", "P27_P19", "P27_P21", "P101_eff", "P103_eff",
)  # fmt: skip
"""The files of requests: those with others to ask about, then those without."""
INFORMATION = ("P101_subject_info.json", "P103_subject_info.json")
WOMAN, MAN = 6581072, 6581097
MOST_EACH = 100
"""Women, and men, in a list of those asked about."""
FIRST_FREE_ID = 1_000_000_000
"""Subjects of whom no id is known are numbered from here."""


class Request(NamedTuple):
    """One request of a file.

    Attributes:
        file: as in REQUESTS.
        relation: the edited one, as `corpus.worlds.people` calls it.
        subject: a name.
        old, new: id and name of what the subject has, and is to have.
        others: id and name of those asked about, in the order of the file.
    """

    file: str
    relation: str
    subject: str
    old: tuple[int, str]
    new: tuple[int, str]
    others: tuple[tuple[int, str], ...]


class Released(NamedTuple):
    """What the files say of people, and the ids of those whom requests are about."""

    facts: Facts
    edited: frozenset[int]


@dataclass(frozen=True, eq=False)
class _Labels:
    """Names by id."""

    names: Mapping[int, str]

    def of(self, ids: np.ndarray) -> list[str]:
        """Names, or the id itself where the files have none."""
        return [self.names.get(i) or f"Q{i}" for i in ids.tolist()]

    def keys(self, ids: np.ndarray) -> list[str]:
        """Ids as Wikidata writes them; those of whom none is known are numbered."""
        return [f"Q{i}" if i < FIRST_FREE_ID else f"subject-{i - FIRST_FREE_ID}" for i in ids.tolist()]

    def find(self, key: str) -> int | None:  # noqa: ARG002
        """Nothing: no option names one of these."""
        return None


def read_requests(folder: Path) -> list[Request]:
    """The requests of all files of a folder, or of its folder `data`.

    Raises:
        InputError: a missing file, or one that holds no requests as Seesaw-CF has them.
    """
    names = {f"P{p}": r for r, p in EDITED_PROPERTIES.items()}
    requests = []
    for file in REQUESTS:
        path = _place(folder) / f"seesaw_cf_{file}.json"
        for number, case in enumerate(_read_json(path, list), start=1):
            try:
                rewrite = case["requested_rewrite"]
                targets = (rewrite[which] for which in ("target_true", "target_new"))
                old, new = ((_number_of(one["id"]), _tidy(one["str"])) for one in targets)
                lists = (case.get(f"attribute_aux_{what}", ()) for what in ("info", "ent"))
                asked = tuple((_number_of(q), _tidy(name)) for q, name in zip(*lists, strict=True))
                relation = names[rewrite["relation_id"]]
                requests.append(Request(file, relation, _tidy(rewrite["subject"]), old, new, asked))
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise InputError(
                    f"{path}, case {number}: no request as Seesaw-CF has them ({error!r:.200}); restore it"
                ) from None
    return requests


def read_released(folder: Path) -> Released:
    """What all files say of people.

    Raises:
        InputError: as `read_requests`; or the same of a file of information.
    """
    requests, known = read_requests(folder), dict(_read_information(folder))
    names = {q: _tidy(str(one["name"])) for q, one in known.items()}
    names |= dict(chain.from_iterable(request.others for request in requests))
    # A subject has the id of the only other person of that name, or a new one.
    count = Counter(names.values())
    by_name = {name: q for q, name in names.items() if count[name] == 1}
    subjects = dict.fromkeys(request.subject for request in requests)
    ids = {name: by_name.get(name, FIRST_FREE_ID + i) for i, name in enumerate(subjects)}
    edited = [(ids[r.subject], EDITED_PROPERTIES[r.relation], r.old[0]) for r in requests]
    asked = [(q, EDITED_PROPERTIES[r.relation], r.new[0]) for r in requests for q, _ in r.others]
    informed = [
        (q, p, _number_of(o))
        for q, one in known.items()
        for p in (EDITED_PROPERTIES[GENDER], ETHNIC_GROUP)
        for o in one["properties"].get(f"P{p}", ())
        if q in ids.values()
    ]
    genders = [(q, EDITED_PROPERTIES[GENDER], gender) for q, gender in _find_genders(requests)]
    triples = [*dict.fromkeys(chain(edited, asked, informed, genders))]
    names |= {i: name for name, i in ids.items()}
    names |= dict(chain.from_iterable((r.old, r.new) for r in requests))
    names |= {WOMAN: "female", MAN: "male"}
    facts = Facts(np.array(triples, np.int32), _Labels(names), _Labels({}), str(folder))
    return Released(facts, frozenset(ids.values()))


def _find_genders(requests: Sequence[Request]) -> Iterator[tuple[int, int]]:
    """The gender of those asked about, where their place in the lists tells it."""
    lists: dict[tuple[str, int], list[list[int]]] = {}
    for request in requests:
        if request.others and request.relation != GENDER:
            lists.setdefault((request.relation, request.new[0]), []).append([q for q, _ in request.others])
    for alike in lists.values():
        women = find_women(alike)
        for people in alike if women else ():
            yield from ((q, WOMAN if i < women else MAN) for i, q in enumerate(people))


def find_women(lists: Sequence[Sequence[int]]) -> int:
    """How many women stand before the men in every list of those who have one object; 0 if it is not told.

    Two full hundreds are women and men. In shorter lists stands everybody who has the object, so that men
    begin behind the only first part that all lists share.
    """
    size = len(lists[0])
    first = {*lists[0]}
    places = range(max(1, size - MOST_EACH), min(MOST_EACH, size - 1) + 1)
    if size == 2 * MOST_EACH:
        return MOST_EACH
    if len(lists) == 1 or any({*one} != first for one in lists):
        return 0
    shared = [n for n in places if all({*one[:n]} == {*lists[0][:n]} for one in lists)]
    return shared[0] if len(shared) == 1 else 0


def _read_information(folder: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for name in INFORMATION:
        path = _place(folder) / name
        for key, one in _read_json(path, dict).items():
            if not isinstance(one, dict) or not isinstance(one.get("properties"), dict) or "name" not in one:
                raise InputError(f"{path}: {key} has no name and properties; restore the file")
            yield _number_of(key), one


def _place(folder: Path) -> Path:
    return folder / "data" if (folder / "data").is_dir() else folder


def _read_json(path: Path, kind: type) -> Any:
    missing = "without --world.people.tags, --world.path should hold Seesaw-CF's files"
    try:
        content = json.loads(read_table_text(path, missing))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: no JSON ({error}); restore it") from None
    if not isinstance(content, kind):
        raise InputError(f"{path}: expected a {kind.__name__} of JSON; restore it")
    return content


def _number_of(key: str) -> int:
    if not key.startswith("Q"):
        raise ValueError(f"expected an id such as Q145, got {key!r:.80}")
    return int(key[1:])


def _tidy(name: str) -> str:
    return " ".join(name.split())
