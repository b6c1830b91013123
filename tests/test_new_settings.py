"""A run goes on that was made before a setting existed, or when there was one that has gone since."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.config import WorldConfig
from corpus.errors import InputError
from corpus.files import read_record, write_record
from testbed.run.runs import Run, claim_stage, fit_settings, recorded_settings
from testbed.run.settings import CorpusSettings, as_plain_data

trees = st.recursive(
    st.integers(), lambda inner: st.dictionaries(st.sampled_from("abcd"), inner, max_size=3), max_leaves=9
).filter(lambda tree: isinstance(tree, dict))


@given(trees, trees)
def test_what_was_recorded_stays_where_it_is_known_and_the_rest_is_the_default(recorded, defaults):
    fitted = fit_settings(recorded, defaults)
    assert fitted.keys() == defaults.keys()
    for key, value in fitted.items():
        if key not in recorded:
            assert value == defaults[key]
        elif isinstance(recorded[key], dict) and isinstance(defaults[key], dict):
            assert value == fit_settings(recorded[key], defaults[key])
        else:
            assert value == recorded[key]
    assert fit_settings(fitted, defaults) == fitted


@pytest.fixture
def older_run(tmp_path):
    """A run of a corpus, recorded when worlds had planets, and no number of subjects."""
    run = Run(tmp_path, "x")
    claim_stage(run, "corpus", CorpusSettings(), made=False)
    stages = read_record(run.config_file)
    del stages["corpus"]["settings"]["world"]["subjects"]
    stages["corpus"]["settings"]["world"]["planets"] = 9
    write_record(run.config_file, stages)
    return run


def test_a_new_setting_at_its_default_is_no_other_setting(older_run):
    claim_stage(older_run, "corpus", CorpusSettings(), made=True)
    assert recorded_settings(older_run, "corpus")[0] == as_plain_data(CorpusSettings())


def test_a_new_setting_elsewhere_is(older_run):
    usual = CorpusSettings()
    other = replace(usual, world=WorldConfig(subjects=usual.world.subjects + 1))
    assert as_plain_data(other) != as_plain_data(usual)
    with pytest.raises(InputError, match=r"world.subjects is 240 there and 241 here"):
        claim_stage(older_run, "corpus", other, made=True)
