"""The evaluation of requests: which claims it makes, in which words, and what its metrics count."""

from dataclasses import replace
from itertools import groupby

import numpy as np
import pytest

from bayes.exact import fit_exact
from corpus.errors import InputError
from corpus.text.hedges import draw_hedged, find_phrasing
from corpus.text.language import Atom, Kind, Sentence
from corpus.text.reading import Line
from lm.editors.full import FullConfig
from lm.editors.full.method import Full
from lm.editors.keyed import RequestConfig
from lm.editors.keyed.method import RequestAlone
from testbed.engine.methods import Method, the_request
from testbed.engine.requests import tell_method
from testbed.engine.results import NO_PASSAGES, Results
from testbed.evaluations.requests import FORMS, GRADED, PASSAGE, RATED, Requests
from testbed.evaluations.requests.cases import list_forms
from testbed.evaluations.requests.metrics import share_written
from testbed.run.agents import paper_agent
from tests.worlds import HEDGED, make_hedged, make_world

EVERY = Requests(others=2)


@pytest.fixture(scope="module")
def place():
    return make_hedged()


@pytest.fixture(scope="module")
def cases(place):
    return list(EVERY.make_cases(*place, 130, 0.95, 0))


def test_every_form_is_told_of_every_kind_of_claim(cases):
    told = {(case.facets["form"], case.facets["claim"]) for case in cases}
    wanted = {(form, claim) for form in FORMS[:-1] for claim in ("other", "own", "unstated")}
    assert told == wanted | {("retraction", "own")}


def test_what_is_claimed_is_what_its_kind_says(place, cases):
    world, _ = place
    for case in cases:
        fact = int(world.graph.find(*case.requested_fact[:2]))
        claim, is_stated = case.facets["claim"], world.generative.statements[fact] > 0
        assert is_stated == (claim != "unstated")
        assert (case.request.object == case.truth) == (claim == "own")


def test_the_agent_answers_as_it_does_when_it_is_asked_alone(place, cases):
    _, agent = place
    for case in cases[::7]:
        edited = agent.with_edit(case.request)
        for choice in (one for one in case.choices if one.role != RATED):
            for reader, belief in zip((agent, edited), choice.agent, strict=True):
                expected = reader.predict(choice.subject, choice.relation).of(choice.options)
                np.testing.assert_allclose(belief, expected, atol=1e-12)
        fact = case.choices[0]
        np.testing.assert_allclose(
            case.claims[0].agent, fact.agent[:, fact.options == case.request.object].ravel()
        )


def test_what_is_said_with_a_probability_is_right_so_often(place, cases):
    """Facts drawn as the agent believes, and then spoken of as the corpus speaks."""
    world, _ = place
    graph, rng = world.graph, np.random.default_rng(0)
    case = next(case for case in cases if case.facets["claim"] == "unstated")
    rated = next(choice for choice in case.choices if choice.role == RATED)
    fact = int(graph.find(rated.subject, rated.relation))
    belief, config = case.choices[0].agent[0], replace(HEDGED, sources=(), said=0, rated=2000)
    counts = np.zeros(len(rated.options))
    for truth, p in zip(rated.options, belief, strict=True):
        said = draw_hedged(graph, np.full(len(graph), truth), np.array([fact]), config, rng)
        sure = said.a[said.phrasing == rated.phrasing, 2]
        counts += p * (sure[:, None] == rated.options).mean(axis=0)
    np.testing.assert_allclose(counts, rated.agent[0], atol=0.05)


def test_passages_count_for_what_they_plainly_say_of_the_fact(place, cases):
    world, _ = place
    s, r, o = cases[0].requested_fact
    other = next(int(x) for x in world.graph.candidates_of(r) if x != o)
    sure = find_phrasing(world.graph.phrasings, "with probability 0.9")
    sentences = [
        Sentence(Kind.ATOMIC, None, Atom(s, r, o)),
        Sentence(Kind.TRUTH, True, Atom(s, r, other)),
        Sentence(Kind.TRUTH, False, Atom(s, r, o)),
        Sentence(Kind.ATOMIC, None, Atom(s, r, o), None, sure),
    ]
    lines = tuple(Line(world.tokenizer.language.render(one), one, "") for one in sentences)
    texts = np.empty(2, object)
    texts[:] = [lines, ()]
    names = ("case", "subject", "relation", "object")
    columns = {name: np.array([x, x]) for name, x in zip(names, (0, s, r, o), strict=True)}
    passages = NO_PASSAGES._replace(case=np.array([0, 1]))
    results = Results(columns, None, None, (), passages)
    np.testing.assert_allclose(share_written(results, texts), [0.5, np.nan])
    assert [p.role for p in cases[0].passages] == [PASSAGE]
    assert not next(Requests(texts=0).make_cases(*place, 1, 0.95, 0)).passages


def test_surer_sources_and_probabilities_are_believed_more_and_their_changes_have_a_centre(cases):
    seen = 0
    for _, of_claim in groupby(cases, key=lambda case: case.requested_fact):
        by_form = [*of_claim]
        for form in GRADED:
            some = [c for c in by_form if c.facets["form"] == form]
            change = [c.claims[0].agent[1] - c.claims[0].agent[0] for c in some]
            if len({c.facets["said"] for c in some}) < 3:
                continue
            assert (np.diff(change) >= -1e-12).all()
            np.testing.assert_allclose([c.facets["centre"] for c in some], np.mean(change), atol=1e-12)
            seen += 1
    assert seen > 10


def test_a_retraction_leaves_what_would_be_believed_without(place):
    """Whoever never read the sentences about a fact answers as the agent after the retraction."""
    world, _ = place
    for case in list(Requests(forms=("retraction",), others=1).make_cases(*place, 5, 0.95, 1)):
        s, r, o = case.requested_fact
        said = world.sentences
        names = (said.a == (s, r, o)).all(axis=1) & (said.kind <= Kind.NOT)
        never = fit_exact(world.graph, HEDGED, said.take(~names))
        fact = case.choices[0]
        np.testing.assert_allclose(fact.agent[1], never.predict(s, r).of(fact.options), atol=1e-10)


def test_forms_without_words_are_left_out_or_refused_with_the_dial(place):
    bare, agent = make_hedged(config=replace(HEDGED, sources=(), said=0, rated=0))
    assert {*list_forms(place[0], ())} == {*FORMS}
    assert {*FORMS} - {*list_forms(bare, ())} == {*GRADED}
    with pytest.raises(InputError, match=r"--exact\.sources"):
        next(Requests(forms=("source",)).make_cases(bare, agent, 3, 0.95, 0))
    with pytest.raises(InputError, match=r"--exact\.rated"):
        next(Requests(forms=("probability",)).make_cases(bare, agent, 3, 0.95, 0))
    toy = make_world()
    with pytest.raises(InputError, match="--agent exact"):
        next(EVERY.make_cases(toy, paper_agent(toy), 3, 0.95, 0))


def test_editors_of_text_are_told_sentences_and_others_are_refused(place, cases):
    tokenizer = place[0].tokenizer
    reads = Method(Full(FullConfig()), the_request)
    batch = tell_method(tokenizer, cases, reads)[""].batch
    for case, prompt, answer in zip(cases, batch.prompt[:, 0], batch.answer[:, 0], strict=True):
        tokens = [int(t) for t in (*prompt, *answer) if t][1:-1]
        text = tokenizer.decode(tokens)
        assert text.split(". ") == [tokenizer.language.render(sentence) for sentence in case.told]
        assert (prompt != 0).sum() == 1
    part = tell_method(tokenizer, [c._replace(learned="doubt") for c in cases], reads)[""].batch
    assert ((part.answer[:, 0] != 0).sum(axis=1) == 2).all()
    with pytest.raises(InputError, match="reads facts"):
        tell_method(tokenizer, cases, Method(RequestAlone(RequestConfig()), the_request))
