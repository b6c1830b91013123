"""The mathematics of studies whose tables are their own, against loops and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.measures.equal_strength import request_probability
from experiments.measures.sequences import are_latest
from testbed.evaluations.catalogue import recorded_evaluation_named
from testbed.evaluations.hase import REQUEST
from testbed.run.runs import Run
from testbed.scores.gather import gather_results
from testbed.scores.statistics import draw_case_weights
from tests.edited import cases_of, rows_of, write_edits
from tests.runs import copied


@pytest.fixture(scope="module")
def edits(built, tmp_path_factory):
    run = Run(copied(built, tmp_path_factory.mktemp("edits")), "x")
    write_edits(run, "lora-down", rows_of(run, cases_of(run, 24), 0.5))
    return gather_results([run], recorded_evaluation_named("hase"))[0]


def test_what_was_reached_is_the_requests_own_probability(edits):
    results = edits.results
    reached = request_probability(results)
    columns = (results.cases[n].tolist() for n in ("subject", "relation", "object"))
    for k, (s, r, o) in enumerate(zip(*columns, strict=True)):
        (q,) = (q for q in np.flatnonzero(results.choices.case == k) if results.choices.role[q] == REQUEST)
        assert (results.choices.subject[q], results.choices.relation[q]) == (s, r)
        p = dict(zip(results.choices.options[q].tolist(), results.choices.lm[q, 1].tolist(), strict=True))
        assert reached[k] == pytest.approx(p[o])


@given(st.integers(0, 2**32 - 1))
def test_cases_of_one_cluster_are_drawn_together(seed):
    rng = np.random.default_rng(seed)
    subject, other = rng.integers(0, 4, 9), np.arange(9)
    drawn = draw_case_weights({"subject": subject}, 5, rng)
    assert (drawn[0] == 1).all()
    for s in np.unique(subject):
        assert (np.ptp(drawn[:, subject == s], axis=1) == 0).all()
    first = [np.flatnonzero(subject == s)[0] for s in np.unique(subject)]
    assert (drawn[1:, first].sum(1) == len(first)).all(), "as many clusters as there are"
    both = draw_case_weights({"subject": subject, "other": other}, 2000, rng)[1:]
    assert both.mean() == pytest.approx(1, abs=0.1), "and crossed levels weigh one on average"


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=12))
def test_the_latest_edit_of_a_fact_is_the_last_in_its_sequence(edits):
    """Against a loop; two sequences, three subjects, two relations."""
    sequence, subject, relation = np.array(edits).T
    position = np.arange(len(edits))
    cases = {"cluster": sequence, "subject": subject, "relation": relation, "position": position}
    expected = [edit not in edits[i + 1 :] for i, edit in enumerate(edits)]
    assert are_latest(cases).tolist() == expected
    mixed = np.random.default_rng(0).permutation(len(edits))
    shuffled = are_latest({name: values[mixed] for name, values in cases.items()})
    assert shuffled.tolist() == [expected[i] for i in mixed]
