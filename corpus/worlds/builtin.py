"""The built-in world: pronounceable people and places from one seed, no download (design.md 2).

Two kinds of subject. A person has one or two of three pairs (educated at -> occupation, place of birth ->
country of citizenship, position played -> member of team); a place has one or two of two (sport -> located in
time zone, instance of -> country). Each upstream object has a favourite downstream object, which a
subject follows with probability `dependence`. Popularity is Zipf's, so support ranges from one
subject to dozens. Ada Marlow and Quintal College are in every such world: she has another college,
and Quintal College is the most popular one, with another favourite occupation.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from corpus.config import BuiltinWorld
from corpus.graph import KnowledgeGraph, build_graph
from corpus.worlds.pairing import upstream_of

RELATIONS = (
    "educated at",
    "occupation",
    "place of birth",
    "country of citizenship",
    "position played",
    "member of team",
    "sport",
    "located in time zone",
    "instance of",
    "country",
)
PERSON_PAIRS = (0, 1, 2)
PLACE_PAIRS = (3, 4)
PLACES_SHARE = 0.25
TRIES = 20

_ONSETS = "b br c d dr f g gr h k l m n p pr qu r s st t tr v w".split()
_VOWELS = "a e i o u ai ea ou".split()
_CODAS = "l m n nd r rn rt s st th x".split()
_GIVEN = "Ada Bela Cato Dina Edda Finn Gita Hugo Ines Joss Kira Lior Mona Nils Orla Pia Remy Sara".split()
_JOB = "bridge clock glass harbor map organ paper rope sail stone tile wool".split()
_CRAFT = "builder carver dealer keeper maker mender painter weaver".split()
_SIDE = "center deep front half inner left outer rear right wide".split()
_ROLE = "back guard keeper runner stopper wing".split()
_GAME = "court field ice net rink river sand snow".split()
_PLAY = "ball bowls croquet hockey polo tennis".split()
_SPOT = "canal coast hill lake market mill mining mountain river valley".split()
_SETTLEMENT = "city fort hamlet port quarter town village".split()


def build_builtin_world(
    subjects: int,
    dials: BuiltinWorld,
    rng: np.random.Generator,
    all_candidates: bool = False,
    min_relations: int = 2,
) -> KnowledgeGraph:
    """A world with `subjects` subjects; see the module for what is in it.

    Args:
        all_candidates: keep objects that nobody has among those a relation may have.
        min_relations: leave out subjects with fewer facts.
    """
    fresh = FreshNames(rng, taken=("Ada Marlow", "Quintal College"), words=dials.words)
    pick = fresh.pick
    places = round(PLACES_SHARE * (subjects - 1))
    people = subjects - places
    persons = ["Ada Marlow", *fresh.take(people - 1, lambda: f"{pick(_GIVEN)} {fresh.word(2)}")]
    names = persons + fresh.take(places, lambda: fresh.word(3))
    patterns: dict[int, Callable[[], str]] = {
        0: lambda: f"{fresh.word(2)} College",
        1: lambda: f"{pick(_JOB)} {pick(_CRAFT)}",
        2: lambda: fresh.word(2),
        3: lambda: f"{fresh.word(1)}{pick(['land', 'ia', 'stan'])}",
        4: lambda: f"{pick(_SIDE)} {pick(_ROLE)}",
        5: lambda: f"{fresh.word(1)} {pick(['Rovers', 'United', 'Wanderers', 'Athletic'])}",
        6: lambda: f"{pick(_GAME)} {pick(_PLAY)}",
        7: lambda: f"{fresh.word(1)} Time",
        8: lambda: f"{pick(_SPOT)} {pick(_SETTLEMENT)}",
        9: lambda: f"{fresh.word(1)}{pick(['mark', 'mere', 'ova'])}",
    }
    first_object: list[int] = []
    for r in range(len(RELATIONS)):
        first_object.append(len(names))
        count = dials.downstream_objects if r % 2 else dials.upstream_objects
        fixed = ["Quintal College"] if r == 0 else []
        names += fixed + fresh.take(count - len(fixed), patterns[r])

    # Of draws for groups that subjects once had; without them every world would be another.
    rng.integers(0, 2, subjects)
    up_share = _zipf_shares(dials.upstream_objects, dials.zipf)
    down_share = _zipf_shares(dials.downstream_objects, dials.zipf)
    for _ in range(2):
        rng.permutation(dials.upstream_objects)
    favourite = rng.choice(
        dials.downstream_objects, (len(RELATIONS) // 2, dials.upstream_objects), p=down_share
    )
    favourite[:, 0], favourite[:, 1] = 0, 1

    # Two pairs of each subject: a person lacks one of the three, places have the last two.
    lacks = rng.integers(0, len(PERSON_PAIRS), people)
    lacks[0] = 2
    pairs = np.array([[p for p in PERSON_PAIRS if p != lack] for lack in range(3)])[lacks]
    pair = np.concatenate([pairs, np.tile(PLACE_PAIRS, (places, 1))]).ravel()
    subject = np.repeat(np.arange(subjects), 2)
    up = rng.choice(dials.upstream_objects, len(subject), p=up_share)
    rng.random(len(subject))
    follows = rng.random(len(subject)) < dials.dependence
    other = rng.choice(dials.downstream_objects, len(subject), p=down_share)
    # Ada Marlow has all four facts, and another college than the most popular one.
    up[0], follows[0] = 1, True
    down = np.where(follows, favourite[pair, up], other)
    incomplete = (rng.random(len(subject)) >= dials.both) & (subject > 0)
    without = np.where(incomplete, rng.integers(0, 2, len(subject)), -1)
    is_there = np.ones(len(subject), bool)
    is_there[3::2] = rng.random(subjects - 1) < dials.second_pair
    first = np.array(first_object)
    triples = np.concatenate(
        [
            np.column_stack([subject, 2 * pair + side, first[2 * pair + side] + objects])[
                is_there & (without != side)
            ]
            for side, objects in enumerate((up, down))
        ]
    )
    triples = triples[np.bincount(triples[:, 0], minlength=subjects)[triples[:, 0]] >= min_relations]
    upstream = upstream_of([(r, r + 1) for r in range(0, len(RELATIONS), 2)], len(RELATIONS))
    ends = [*first_object[1:], len(names)]
    ranges = [np.arange(low, high) for low, high in zip(first_object, ends, strict=True)]
    return build_graph(triples, names, RELATIONS, upstream, candidates=ranges if all_candidates else None)


class FreshNames:
    """Names never given twice; when a pattern runs dry, a number tells its names apart.

    Args:
        taken: names given before.
        words: how many made-up words stand for one.
    """

    def __init__(self, rng: np.random.Generator, taken: Iterable[str] = (), words: int = 1) -> None:
        self.rng, self.words = rng, words
        self.taken = {*taken}
        self.numbered: Counter[str] = Counter()

    def pick(self, options: Sequence[str]) -> str:
        """One of the options."""
        # A name takes a dozen of these, and Generator.choice a hundred times as long.
        return options[int(self.rng.random() * len(options))]

    def word(self, syllables: int) -> str:
        """A pronounceable word with a capital, or several."""
        pick = self.pick
        texts = (
            "".join(pick(_ONSETS) + pick(_VOWELS) for _ in range(syllables)) + pick(_CODAS)
            for _ in range(self.words)
        )
        return " ".join(text.capitalize() for text in texts)

    def take(self, count: int, pattern: Callable[[], str]) -> list[str]:
        """So many names of a pattern, all different from those given before."""
        names: list[str] = []
        tries = TRIES
        for _ in range(count):
            name = next((n for n in (pattern() for _ in range(tries)) if n not in self.taken), None)
            if name is None:
                # Trying on would cost ever more.
                tries, base = 1, pattern()
                self.numbered[base] += 1
                name = f"{base} {1 + self.numbered[base]}"
            self.taken.add(name)
            names.append(name)
        return names


def _zipf_shares(count: int, exponent: float) -> np.ndarray:
    weight = np.arange(1, count + 1) ** -exponent
    return weight / weight.sum()
