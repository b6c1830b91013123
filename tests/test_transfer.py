"""Editors on models of several sizes: which models there are, what they learn, which are compared."""

import pytest

from experiments.studies.transfer import (
    FACTS,
    SIZES,
    Model,
    Settings,
    list_models,
    model_settings,
    pair_sizes,
)


@pytest.mark.parametrize(("size", "millions"), [("0.4M", 0.4), ("5M", 5), ("20M", 20), ("83M", 83)])
def test_sizes_are_what_they_are_called(size, millions):
    names = {"0.4M": 300, "83M": 32_000}.get(size, 3700)
    _, training = model_settings(Settings(), Model(size, 0))
    assert training.model.parameters(names) == pytest.approx(1e6 * millions, rel=0.3)


def test_middle_sizes_have_as_many_facts_as_they_say():
    for size in ("5M", "20M"):
        corpus, training = model_settings(Settings(), Model(size, 2))
        assert SIZES[size].facts == FACTS
        # The paper's world has 3.8 facts of a subject.
        assert corpus.world.subjects == pytest.approx(FACTS / 3.8, rel=0.01)
        assert corpus.seed == training.seed == 2


def test_every_pair_of_models_is_compared_once():
    models = list_models(Settings(sizes=("0.4M", "5M", "83M"), seeds=(3, 3, 1)))
    pairs = pair_sizes(models)
    assert {name: len(both) for name, both in pairs.items()} == {
        "seeds of 0.4M": 3,
        "0.4M against 5M": 9,
        "0.4M against 83M": 3,
        "seeds of 5M": 3,
        "5M against 83M": 3,
    }
    for name, both in pairs.items():
        for i, j in both:
            assert (models[i].size == models[j].size) == name.startswith("seeds")


def test_too_little_to_compare():
    with pytest.raises(ValueError, match="2 sizes"):
        Settings(sizes=("5M",))
    with pytest.raises(ValueError, match="each size"):
        Settings(seeds=(3, 1))
    with pytest.raises(ValueError, match="3 editors"):
        Settings(editors=("rome", "full-early"))
