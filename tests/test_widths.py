"""Requests of many lengths in few widths: each fits, and padding changes no edit."""

import itertools

import jax
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lm.editors.lora import LoraConfig
from lm.editors.lora.method import lora_down
from testbed.engine import requests
from testbed.engine.methods import Method, the_request
from testbed.engine.plan import order_by_length
from testbed.engine.prepared_editor import PreparedEditor
from testbed.engine.questions import Questions
from testbed.run.agents import paper_agent
from tests.edited import hase_cases
from tests.toys import random_model, spelt_world

lengths = st.lists(st.tuples(st.integers(2, 30), st.integers(2, 9)), min_size=1, max_size=400).map(np.array)


@given(lengths)
def test_every_request_has_room_and_the_widths_are_few(needed):
    found = requests.widths_for(needed)
    assert 1 <= len(found) <= requests.MOST
    assert (found[-1] == needed.max(axis=0)).all()
    tokens = [width.sum() for width in found]
    assert all(a <= requests.LESS * b for a, b in itertools.pairwise(tokens))
    for one in needed:
        assert (found[requests.narrowest_width(found, one)] >= one).all()
    # Whoever needs the widest has it, and is not among those for whom a narrower one is made.
    for width in found[:-1]:
        assert sum((one <= width).all() for one in needed) >= min(requests.EDITS, len(needed))


@given(st.integers(2, 9), st.integers(2, 9), st.integers(1, 500))
def test_equal_lengths_have_one_width(prompt, answer, count):
    assert len(requests.widths_for(np.array([[prompt, answer]] * count))) == 1


def test_padding_changes_no_edit(world, monkeypatch):
    monkeypatch.setattr(requests, "EDITS", 4)
    spelt = spelt_world(world)
    cases = hase_cases(spelt, paper_agent(spelt), 12)
    questions = Questions(spelt, random_model(spelt.tokenizer.vocabulary), cases)
    told = requests.build_requests(spelt.tokenizer, cases, [*map(the_request, cases)])
    editor = PreparedEditor(questions, Method(lora_down(LoraConfig(steps=3)), the_request), {}, told, 0)
    request = told[""]
    assert len(request.widths) > 1, "several widths"
    order = order_by_length(spelt.tokenizer, [case.requested_fact for case in cases])
    assert sorted(order) == [*range(12)] != order
    which = np.array(order[:4])[:, None]
    narrow = editor.edit(which).deltas
    assert request.of_edits(which, narrow=True).prompt.shape[-1] < request.widths[-1][0]
    told[""] = request._replace(widths=request.widths[-1:], width_index=np.zeros(12, int))
    wide = editor.edit(which).deltas
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5), narrow, wide)
    assert max(np.abs(x).max() for x in jax.tree.leaves(narrow)) > 1e-3
