"""What is said of a fact, from text to agents and editors."""

import jax
import numpy as np
import pytest

import testbed
from bayes.request import EditRequest
from corpus.errors import InputError
from corpus.text.tokenizer import BOS, SEP
from lm.editors.fitting import answer_nats, request_states
from lm.editors.interface import make_requests
from testbed.engine.catalogue import editor_entries
from testbed.engine.methods import Control
from testbed.engine.request_parser import parse_request
from testbed.engine.requests import pack_wordings, sentences_of, word_sentences
from testbed.engine.run_answers import say_request
from testbed.engine.tuning import method_named
from testbed.presets import EDIT
from testbed.run.world import ExactWorld
from tests.worlds import HEDGED, make_hedged, make_world

EDITORS_OF_TEXT = {
    "lora-down", "lora-all", "embeddings", "full", "full-early", "full-late", "ft-constrained", "in-context",
    "none",
}  # fmt: skip


@pytest.fixture(scope="module")
def small_world():
    return make_world()


@pytest.fixture(scope="module")
def fact(small_world):
    """A fact, another object of its relation, and their text."""
    graph = small_world.graph
    s, r, o = int(graph.subject[0]), int(graph.relation[0]), int(graph.object[0])
    other = int(next(x for x in graph.candidates_of(r) if x != o))
    names = graph.entities
    return (s, r, o), other, f"{names[s]} {graph.relations[r]}", names[o], names[other]


@pytest.mark.parametrize(
    ("text", "form", "names_other", "p"),
    [
        ("{edit}", "assertion", False, 1.0),
        ("not {edit}", "denial", False, 1.0),
        ('"{said}" is true', "true", False, 1.0),
        ('"{said}" is false', "false", False, 1.0),
        ('"not {said}" is true', "denial", False, 1.0),
        ("{edit} with probability .8", "probability", False, 0.8),
        ("according to a source of 0.7: {edit}", "source", False, 0.7),
        ("{edit} or {other}", "disjunction", True, 1.0),
        ('"{said} or {prompt} {other}" is true', "disjunction", True, 1.0),
        ("{edit}, not {other}", "replacement", True, 1.0),
        ("never {edit}", "retraction", False, 1.0),
    ],
)
def test_a_text_is_read_as_its_form(text, form, names_other, p, small_world, fact):
    triple, other, prompt, name, other_name = fact
    text = text.format(
        edit=f"{prompt} = {name}", said=f"{prompt} {name}", prompt=prompt, other=other_name, name=name
    )
    expected = EditRequest(*triple, form=form, probability=p, others=(other,) if names_other else ())
    assert parse_request(small_world, text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{edit} with probability 8", "between 0 and 1"),
        ("{edit} with probability 1.2.3", "between 0 and 1"),
        ("{edit} or {name}", "no other object"),
        ('"not {prompt} {name}" is false', "says nothing that one request"),
        ("not {prompt} {name}", "should be 'subject relation = object'"),
        ("{edit} or nobody at all", "unknown entity"),
    ],
)
def test_a_text_of_no_form_is_refused(text, message, small_world, fact):
    _, _, prompt, name, _ = fact
    with pytest.raises(InputError, match=message):
        parse_request(small_world, text.format(edit=f"{prompt} = {name}", prompt=prompt, name=name))


@pytest.mark.parametrize("form", ["assertion", "denial", "true", "false", "disjunction", "replacement"])
def test_a_wording_is_the_sentences_whatever_is_learned(form, small_world, fact):
    triple, other, *_ = fact
    others = (other,) if form in ("disjunction", "replacement") else ()
    request, tokenizer = EditRequest(*triple, form=form, others=others), small_world.tokenizer
    whole = [
        BOS, *(t for said in sentences_of(request) for t in (*tokenizer.sentence(said).tolist(), SEP)),
    ]  # fmt: skip
    for learned in ("doubt", "sentence"):
        context, tokens = word_sentences(tokenizer, sentences_of(request), learned)
        assert [*context, *tokens] == whole
        assert len(tokens) == (len(whole) - 1 if learned == "sentence" else 2)


def test_the_wording_of_an_assertion_is_the_request_that_editors_know(small_world, fact):
    triple, *_ = fact
    packed = pack_wordings([word_sentences(small_world.tokenizer, sentences_of(EditRequest(*triple)))], 0.9)
    known = make_requests(small_world.tokenizer, [triple], [0.0], [0.9])
    for name in ("prompt", "answer", "weight", "credence"):
        np.testing.assert_array_equal(getattr(packed, name), getattr(known, name))


@pytest.mark.parametrize("form", ["probability", "source", "retraction"])
def test_what_the_language_cannot_say_is_refused(form, fact):
    with pytest.raises(InputError, match="no words"):
        sentences_of(EditRequest(*fact[0], form=form))


def test_an_editor_of_text_makes_the_label_likely_and_others_are_refused(finished):
    run = testbed.open(finished / "x")
    triple = run.world.graph.subject[0], run.world.graph.relation[0], run.world.graph.object[0]
    names = run.world.graph.entities
    said = f"{names[triple[0]]} {run.world.graph.relations[triple[1]]} {names[triple[2]]}"
    edit = f'"{said}" is false'
    before, after = run.model, run.edit("full", edit, learning_rate=0.1).model
    wording = word_sentences(run.world.tokenizer, sentences_of(parse_request(run.world, edit)))
    p = [_probability(model, wording) for model in (before, after)]
    assert p[1] > p[0]
    assert p[1] > 0.5
    with pytest.raises(InputError, match="reads facts"):
        run.edit("rome", edit)
    with pytest.raises(InputError, match="no words"):
        run.edit("full", f"{said.removesuffix(names[triple[2]])}= {names[triple[2]]} with probability .8")


def test_editors_of_text_are_those_that_say_so(small_world):
    editors = [
        (name, method_named(name, EDIT["tiny"], small_world).editor)
        for name, entry in editor_entries().items()
        if not isinstance(entry, Control)
    ]
    assert {name for name, editor in editors if getattr(editor, "learns_text", False)} == EDITORS_OF_TEXT


def _probability(model, wording):
    request = jax.tree.map(lambda x: x[0], pack_wordings([wording]))
    return float(np.exp(-answer_nats(model, request, request_states(model, request)))[0])


def test_a_corpus_with_hedges_has_words_for_who_says_so_and_how_sure():
    world, _ = make_hedged()
    s, r, o = (int(x) for x in world.sentences.a[0])
    world = world._replace(exact=ExactWorld(HEDGED, None, True))
    hedges = (("source", 0.9, "according to Estrid "), ("probability", 0.8, "with probability 0.8 "))
    for form, p, words in hedges:
        request = EditRequest(s, r, o, form=form, probability=p)
        (said,) = (world.tokenizer.language.render(one) for one in say_request(world, request))
        plain = world.tokenizer.language.render(*sentences_of(EditRequest(s, r, o)))
        assert said == words + plain
        with pytest.raises(InputError, match=r"there are 0\.1, .*0\.9"):
            say_request(world, request._replace(probability=0.85))
    assert say_request(world, EditRequest(s, r, o)) == sentences_of(EditRequest(s, r, o))
