"""Guests beside ours: the setting that trials choose, and answers that were made with another one."""

import json

import pytest

from corpus.errors import InputError
from experiments.studies import guests


@pytest.fixture
def options(tmp_path):
    for folder in ("answers/one", "answers/other"):
        (tmp_path / folder).mkdir(parents=True)
    return guests.Settings(path=tmp_path, beside=("one=rome",))


def write_fields(folder, **fields):
    (folder / "about.json").write_text(json.dumps({"fields": fields}))


def test_guests_and_who_stands_beside_them(options):
    assert options.guests == ["one", "other"]
    assert options.ours == {"one": "rome"}
    with pytest.raises(InputError, match="no folder two"):
        guests.run_study(guests.Settings(path=options.path, beside=("two=rome",)))


def test_answers_by_another_setting_than_the_trials_choose_are_refused(options):
    """Enough success first, then coherence."""
    headlines = guests.metrics_shown_in(options.edits("demo", 6).chosen_evaluation.metrics, "headline")
    values = {"a": (0.5, 9.0), "b": (1.0, 0.1), "c": (0.99, 0.3)}
    lines = [
        {"trial": name, "setting": {"rate": name}}
        | dict.fromkeys(headlines, 0.0)
        | {headlines[0]: first, headlines[-1]: last}
        for name, (first, last) in values.items()
    ]
    assert guests.choose_trial(options, lines)["trial"] == "c"
    write_fields(options.path / "answers" / "one", rate="c")
    guests.check_setting(options, "one", lines)
    write_fields(options.path / "answers" / "one", rate="b")
    with pytest.raises(InputError, match=r"rate.*trial c"):
        guests.check_setting(options, "one", lines)
    table = guests.search_table(options, {"one": lines})
    assert [row[1] for row in table.rows] == ["rate a", "rate b", "rate c *"]
