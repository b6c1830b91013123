"""Guests beside ours: who is compared, the setting that trials choose, and answers with another one."""

import json
from dataclasses import replace

import pytest

from corpus.errors import InputError
from experiments.analyses import guests
from experiments.study import change_settings
from testbed.engine.catalogue import whose_options
from testbed.presets import EDIT


@pytest.fixture
def options(tmp_path):
    for world in ("demo", "second"):
        for guest in ("one", "one-late", "other"):
            (tmp_path / world / guest).mkdir(parents=True)
    beside = ("one=rome", "one-late=rome")
    return guests.Settings(path=tmp_path, worlds=("demo", "second"), beside=beside, unchosen=("one-late",))


def write_fields(folder, **fields):
    (folder / "about.json").write_text(json.dumps({"fields": fields}))


def test_guests_and_who_stands_beside_them(options):
    assert options.guests == ["one", "one-late", "other"]
    assert options.chosen_guests == ["one", "other"]
    assert options.ours == {"one": "rome", "one-late": "rome"}
    of_rome = [variant.name for variant in guests.VARIANTS if variant.editor == "rome"]
    assert of_rome
    assert options.pairs == [("one", "rome"), ("one-late", "rome"), *(("one", name) for name in of_rome)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"beside": ("two=rome",)}, "demo has no folder two"),
        ({"unchosen": ("two",)}, "demo has no folder two"),
        ({"worlds": ("second", "demo")}, "demo has no folder third"),
    ],
)
def test_guests_who_did_not_answer_in_every_world_are_named(options, changes, message):
    (options.path / "second" / "third").mkdir()
    with pytest.raises(InputError, match=message):
        guests.run_study(replace(options, **changes))


def test_answers_by_another_setting_than_the_trials_choose_are_refused(options):
    """Enough success first, then coherence."""
    headlines = guests.metrics_shown_in(options.edits_of("demo", 6).chosen_evaluation.metrics, "headline")
    values = {"a": (0.5, 9.0), "b": (1.0, 0.1), "c": (0.99, 0.3)}
    lines = [
        {"trial": name, "setting": {"rate": name}}
        | dict.fromkeys(headlines, 0.0)
        | {headlines[0]: first, headlines[-1]: last}
        for name, (first, last) in values.items()
    ]
    assert guests.choose_trial(options, lines)["trial"] == "c"
    answers = options.path / "second" / "one"
    write_fields(answers, rate="c")
    guests.check_setting(options, answers, lines)
    write_fields(answers, rate="b")
    with pytest.raises(InputError, match=r"second/one.*rate.*trial c"):
        guests.check_setting(options, answers, lines)
    table = guests.search_table(options, {"one": lines})
    assert [row[1] for row in table.rows] == ["rate a", "rate b", "rate c *"]


def test_variants_of_ours_change_what_tuning_does_not_choose(options):
    """What is tuned would overwrite the change, and the variant would be ours again."""
    for _, editor, changes in guests.VARIANTS:
        ours = EDIT["tiny"]
        assert change_settings(ours, changes).configs[editor] != ours.configs[editor]
        assert not {name.partition(".")[2] for name in changes} & whose_options(editor).search.keys()
