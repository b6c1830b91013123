"""How many sentences can be true together, against truth tables and against every set of sentences."""

from itertools import chain, combinations, product

from hypothesis import given, settings
from hypothesis import strategies as st

from corpus.text.consistency import count_most_true, facts_of, is_true
from corpus.text.language import Atom, Kind, Sentence

OBJECTS = 3
atoms = st.builds(Atom, st.integers(0, 1), st.integers(0, 1), st.integers(0, OBJECTS - 1))
sentences = st.one_of(
    st.builds(Sentence, st.just(Kind.ATOMIC), st.none(), atoms, st.none(), st.just(0)),
    st.builds(Sentence, st.sampled_from([Kind.TRUTH, Kind.NOT]), st.booleans(), atoms, st.none(), st.just(0)),
    st.builds(Sentence, st.sampled_from([Kind.AND, Kind.OR]), st.booleans(), atoms, atoms, st.just(0)),
)


def size(_relation):
    return OBJECTS


def worlds(said):
    """Every way in which each fact has one object."""
    facts = sorted({fact for sentence in said for fact in facts_of(sentence)})
    for objects in product(range(OBJECTS), repeat=len(facts)):
        yield dict(zip(facts, objects, strict=True))


@settings(max_examples=150)
@given(st.lists(sentences, max_size=14))
def test_the_most_that_can_be_true_equals_the_truth_table(said):
    best = max(sum(is_true(sentence, world) for sentence in said) for world in worlds(said))
    assert count_most_true(said, size) == (best, len(said))


@settings(max_examples=25)
@given(st.lists(sentences, max_size=7))
def test_the_most_that_can_be_true_is_the_largest_satisfiable_set(said):
    sets = chain.from_iterable(combinations(said, n) for n in range(len(said) + 1))
    satisfiable = [some for some in sets if any(all(is_true(s, w) for s in some) for w in worlds(some))]
    assert count_most_true(said, size)[0] == max(map(len, satisfiable))


@settings(max_examples=50)
@given(st.lists(sentences, max_size=10), st.randoms(use_true_random=False))
def test_order_and_repetition_change_nothing(said, random):
    shuffled = random.sample(said, len(said))
    assert count_most_true(shuffled, size) == count_most_true(said, size)
    assert count_most_true(said * 3, size) == tuple(3 * n for n in count_most_true(said, size))


def test_formulas_mean_what_they_say():
    a, b = Atom(0, 0, 1), Atom(0, 1, 2)
    world = {(0, 0): 1, (0, 1): 0}
    said = {
        Sentence(Kind.ATOMIC, None, a): True,
        Sentence(Kind.ATOMIC, None, b): False,
        Sentence(Kind.TRUTH, False, b): True,
        Sentence(Kind.NOT, True, a): False,
        Sentence(Kind.NOT, False, a): True,
        Sentence(Kind.AND, True, a, b): False,
        Sentence(Kind.AND, False, a, b): True,
        Sentence(Kind.OR, True, a, b): True,
        Sentence(Kind.OR, False, b, b): True,
    }
    assert {sentence: is_true(sentence, world) for sentence in said} == said


def test_a_fact_has_one_object_and_perhaps_another():
    """Two statements of one fact contradict each other; denying all objects that there are does, too."""
    fact = [Atom(0, 0, o) for o in range(3)]
    assert count_most_true([Sentence(Kind.ATOMIC, None, x) for x in fact], size) == (1, 3)
    denied = [Sentence(Kind.TRUTH, False, x) for x in fact]
    assert count_most_true(denied, size) == (2, 3)
    assert count_most_true(denied, lambda _: 4) == (3, 3)
    assert count_most_true([], size) == (0, 0)
    assert count_most_true(
        [Sentence(Kind.IMAGINE, None, fact[0]), Sentence(Kind.ABOUT, None, fact[1])], size
    ) == (0, 0)
