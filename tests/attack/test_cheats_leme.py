"""Editors that read no request, under LEME: what they write, and in which headlines that is above no edit.

The unedited model writes every fact of a passage's entity twice, each time drawn from what the agent believes
before the edit, so that it errs and contradicts itself.
"""

from dataclasses import replace

import numpy as np
import pytest

from testbed.evaluations.leme import Leme
from testbed.evaluations.leme import metrics as m
from testbed.evaluations.leme.readers import TIMES, as_column, line_stating
from testbed.evaluations.leme.standard import standards_of_cases
from testbed.scores.metric import metrics_shown_in
from testbed.scores.readers import NO_EDIT
from testbed.scores.summary import measure_reader
from testbed.scores.tables import ENOUGH
from testbed.scores.temperature import temper
from tests.attack.cheats import CHEATS
from tests.test_leme import written
from tests.worlds import make_coupled

COUNT, SLACK = 18, 0.1
"""One case of 18 is 0.06."""
EVALUATION = Leme()
HEADLINES = metrics_shown_in(EVALUATION.metrics, "headline")
OF_A_CASE = 6
"""Passages: two samples of three."""
ONE_FOR_ALL = "one passage for everything"


def put_texts(results, before, after):
    lines = np.stack([before, after], axis=1)
    return replace(results, passages=results.passages._replace(lines=lines, ended=np.ones(lines.shape, bool)))


def write_beliefs(results, rng):
    """object[P]: passages by somebody who doubts what the agent believes before the edit."""
    standards, p = standards_of_cases(results, 1), results.passages

    def write_lines(standard, entity):
        for fact, belief in standard.beliefs.items():
            if fact[0] == entity and belief.before.sum() > 0:
                doubt = 0.7 * belief.before / belief.before.sum() + 0.3 / len(belief.options)
                for obj in rng.choice(belief.options, TIMES, p=doubt).tolist():
                    yield line_stating(fact, obj)

    cases = [standards[case] for case in p.case.tolist()]
    return as_column(
        tuple(write_lines(case, case.entities[str(role)])) for case, role in zip(cases, p.role, strict=True)
    )


@pytest.fixture(scope="module")
def none(unedited_results):
    return measure(unedited_results, NO_EDIT)


@pytest.fixture(scope="module")
def unedited_results(tmp_path_factory):
    world, agent = make_coupled(pairs=16, objects=4)
    cases = list(Leme(samples=2, longest=4).make_cases(world, agent, COUNT, 0.95, 0))
    results = written((world, agent), cases, tmp_path_factory.mktemp("leme"))
    texts = write_beliefs(results, np.random.default_rng(0))
    c = results.choices
    lm = temper(np.repeat(c.agent[:, :1], 2, 1), 0.5)
    return put_texts(replace(results, choices=c._replace(lm=lm, lm_open=lm)), texts, texts)


def measure(results, reader="x"):
    return measure_reader(EVALUATION, results, EVALUATION.readers(results, "x")[reader])


TEXTS = {
    "silence": lambda texts, rng: [() for _ in texts],
    "silence now and then": lambda texts, rng: [text if rng.random() < 0.5 else () for text in texts],
    "the first sentence": lambda texts, rng: [text[:1] for text in texts],
    "the first sentence twice": lambda texts, rng: [text[:1] * 2 for text in texts],
    "the last sentence": lambda texts, rng: [text[-1:] for text in texts],
    "every sentence once": lambda texts, rng: [text[::TIMES] for text in texts],
    "every sentence often": lambda texts, rng: [text * 5 for text in texts],
    "another case's passages": lambda texts, rng: [*texts[OF_A_CASE:], *texts[:OF_A_CASE]],
    ONE_FOR_ALL: lambda texts, rng: [texts[0]] * len(texts),
}


def is_above(mine, none):
    """Whether a metric is above another's, and of so many cases that it may be named best."""
    heard = (mine.denominator > 0).sum() >= ENOUGH * (none.denominator > 0).sum()
    return bool(heard and mine.value() > none.value() + SLACK)


@pytest.mark.parametrize("name", TEXTS)
def test_whatever_is_written_without_the_request_is_above_no_edit_in_no_headline(
    name, unedited_results, none
):
    """But for passages about somebody else that agree with each other, which are off the topic."""
    before = unedited_results.passages.lines[:, 0]
    texts = as_column(TEXTS[name]([*before], np.random.default_rng(0)))
    mine = measure(put_texts(unedited_results, before, texts))
    above = [metric for metric in HEADLINES if is_above(mine[metric], none[metric])]
    assert above == ([m.CROSS] if name == ONE_FOR_ALL else [])
    assert name != ONE_FOR_ALL or mine[m.TOPICALITY].value() < 0.1 < none[m.TOPICALITY].value()


@pytest.mark.parametrize("name", ["temperature by case", "mute", "dropout", "constant"])
def test_no_cheat_of_short_answers_is_above_no_edit(name, unedited_results, none):
    """But in saying the request, which may be guessed."""
    mine = measure(CHEATS[name](unedited_results, np.random.default_rng(0)))
    held = (*HEADLINES, m.LOCALITY, m.PORTABILITY)
    assert not [metric for metric in held if is_above(mine[metric], none[metric])]


@pytest.mark.parametrize("name", ["mute", "constant"])
def test_who_finds_every_option_as_likely_answers_nothing(name, unedited_results):
    """Before, the option that comes first was the answer."""
    mine = measure(CHEATS[name](unedited_results, np.random.default_rng(0)))
    assert [mine[metric].value() for metric in m.FOUR] == [0] * 4
