"""Options that would change nothing in a setting are refused by name, and the setting is named."""

import pytest

from testbed import corpus
from tests.runs import at, complaint
from tests.test_any_table import homes

PAIRS = ["--world.pairs", "born in:citizen of"]


@pytest.mark.parametrize(
    ("words", "option", "setting"),
    [
        (["--exact.noise", "0.3"], "--exact.noise", "--kind is published"),
        (["--kind", "exact", "--distractors", "same-relation"], "--distractors", "--kind is exact"),
        (["--world.builtin.zipf", "3"], "--world.builtin.zipf", "--world.source is tsv"),
        ([*PAIRS, "--world.min-pair-subjects", "5"], "--world.min-pair-subjects", "--world.pairs are given"),
        ([*PAIRS, "--world.relation-count", "5"], "--world.relation-count", "--world.pairs are given"),
    ],
)
def test_an_option_without_effect_is_refused(words, option, setting, tmp_path, capsys):
    (tmp_path / "w.tsv").write_text(homes(40))
    table = (
        ["--world.source", "tsv", "--world.path", str(tmp_path / "w.tsv")] if "--world" in words[0] else []
    )
    assert corpus.main([*at(tmp_path), *table, *words]) == 2
    assert f"{option} does nothing where {setting}" in complaint(capsys)
    assert not (tmp_path / "x").exists()


def test_the_home_folder_is_meant_by_its_sign(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "w.tsv").write_text(homes(40))
    args = [*at(tmp_path), "--world.source", "tsv", "--world.path", "~/w.tsv"]
    assert corpus.main(args) == corpus.main(args) == 0
