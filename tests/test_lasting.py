"""The study of edits at names: whose cells are whose, and what of a sequence is the latest."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from experiments.measures.sequences import are_latest


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
