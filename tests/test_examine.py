"""The frozen suites and their scorecard: hashes, rows, who stands where, and the folder that is handed in."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.errors import InputError
from corpus.files import CHECKSUMS, read_json, seal_folder, verify_folder
from experiments.freeze_suite import write_references
from testbed.commands import examine
from testbed.commands.examine import can_edit, list_changed_references
from testbed.commands.leaderboard import reference_numbers
from testbed.engine.results import NoNumbersError, mark_lost_edits
from testbed.examine import main
from testbed.reference_answers import answers_file, read_references
from testbed.run.runs import ORIGIN, folder_digest
from testbed.run.world import load_world
from testbed.scorecard import Score, WorldResults, card_as_data, make_card, measure_editors
from testbed.scores.card_format import BOUND, count_by_kind, standing_key
from testbed.scores.gather import pool_results
from testbed.scores.statistics import Comparison, Estimate
from testbed.settings import ExamineSettings
from testbed.suite import LATEST, QUICK, list_suites, read_suite
from tests.attack.cheats import replace_answers
from tests.attack.test_cheats import draw_results
from tests.attack.trials import shrink_suite
from tests.random_answers import HASE, OPTIONS, distributions
from tests.runs import complaint, copied

RUNS = Path("runs")
SUITES = {name: read_suite(name, RUNS) for name in list_suites()}
WORLDS = [*SUITES[LATEST].worlds, *SUITES[QUICK].worlds]
DEMO, COUPLES, REVISION = "demo", "couples", ("published", "persisting", "drawn")
SOON = ("published", "people", DEMO)
"""Worlds that are built in every run of the tests; `make slow` builds all."""


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_what_is_asked_is_what_was_frozen(world):
    asked = world.edits.settings_as_data()
    assert not examine.unlike_settings(world.frozen["settings"], asked)
    newer = asked | {"newer": 1}
    assert not examine.unlike_settings(world.frozen["settings"], newer)
    other = newer | {"cases": newer["cases"] | {"credence": 0.5}}
    (difference,) = examine.unlike_settings(world.frozen["settings"], other)
    assert "credence" in difference


@pytest.mark.parametrize(
    "name",
    [pytest.param(one.name, marks=() if one.name in SOON else pytest.mark.slow) for one in WORLDS],
)
def test_worlds_corpora_and_cases_are_the_frozen_ones(name, tmp_path):
    suites = (read_suite(suite, tmp_path) for suite in (LATEST, QUICK))
    (world,) = (one for suite in suites for one in suite.worlds if one.name == name)
    examine.build_corpus(world.corpus)
    made = load_world(world.run)
    digests = examine.digest_world(world, made, examine.draw_with_agent(made, world.edits)[1])
    assert {key: digests[key] for key in BOUND} == {key: world.frozen[key] for key in BOUND}


def test_an_earlier_suite_is_part_of_a_later_one():
    """So that worlds and models serve both, and rows of the same name are the same."""
    early, late = SUITES["v1"], SUITES[LATEST]
    assert early.worlds == late.worlds[: len(early.worlds)]
    assert early.rows == late.rows[: len(early.rows)]
    assert len(late.worlds) == 11
    assert len({row.kind for row in late.rows}) == 6


def test_digests_are_of_data_alone(built, tmp_path):
    """A new option is recorded beside a corpus and changes no digest; a change of any other file does."""
    corpus = copied(built, tmp_path) / "x" / "corpus"
    digest, whole = examine.digest_data(corpus), folder_digest(corpus)
    sums = read_json(corpus / CHECKSUMS)
    for name in sums:
        seal_folder(corpus, sums)
        (corpus / name).write_bytes((corpus / name).read_bytes() + b" ")
        seal_folder(corpus, sums)
        assert folder_digest(corpus) != whole
        assert (examine.digest_data(corpus) == digest) == (name == ORIGIN)
        (corpus / name).write_bytes((corpus / name).read_bytes()[:-1])


def test_another_world_is_refused_before_anything_is_trained(tmp_path, monkeypatch):
    (world,) = read_suite(QUICK, tmp_path).worlds
    monkeypatch.setattr(examine, "train", None)
    with pytest.raises(InputError, match=r"is not the frozen world demo \(corpus\)"):
        examine.prepare_world(world._replace(frozen=world.frozen | {"corpus": "0"}))
    with pytest.raises(InputError, match="no hashes of the world demo"):
        examine.prepare_world(world._replace(frozen={}))


@pytest.mark.parametrize("suite", SUITES.values(), ids=lambda suite: suite.name)
def test_a_row_is_a_metric_of_worlds_of_one_kind(suite):
    worlds = {world.name: world for world in suite.worlds}
    assert len({row.name for row in suite.rows}) == len(suite.rows)
    assert {name for row in suite.rows for name in row.worlds} == set(worlds)
    for row in suite.rows:
        assert {worlds[name].kind for name in row.worlds} == {row.kind}
        for name in row.worlds:
            metrics = worlds[name].edits.chosen_evaluation.metrics
            assert [m.better for m in metrics if m.id == row.metric] == [row.better]


def test_every_reference_can_edit_every_world_but_the_oracle():
    """It is scored on the half of the questions that it is not told of."""
    for suite in SUITES.values():
        lacking = {
            world.name: [e for e in suite.references if not can_edit(e, world.edits)]
            for world in suite.worlds
        }
        unlike = [name for name, editors in lacking.items() if editors]
        assert unlike == (["taxonomy", "people", COUPLES] if "oracle" in suite.references else [])
        assert all(of in ([], ["oracle"]) for of in lacking.values())


@pytest.mark.parametrize(
    "suite", [one for one in SUITES.values() if one.answers], ids=lambda suite: suite.name
)
def test_the_references_answers_come_with_the_suite(suite):
    """All editors have the same cases of a row; the unedited model is as good as itself."""
    measured, about = read_references(suite)
    assert {*measured} == {*suite.references} == {*about["versions"]}
    for of in measured.values():
        assert {*of} == {row.name for row in suite.rows}
        for row, one in of.items():
            assert len(one.metric.numerator) == len(measured["none"][row].metric.numerator) > 0
            assert all(
                np.array_equal(x, measured["none"][row].levels[level]) for level, x in one.levels.items()
            )
    card = make_card(suite.rows, measured)
    assert set(card.verdicts_of("none").values()) == {"unsure"}
    assert answers_file(suite.name).stat().st_size <= 200_000 * len(suite.worlds)
    assert [one["editor"] for one in reference_numbers(suite)] == [*card.scores]


def test_answers_of_references_are_read_as_they_were_written(tmp_path, monkeypatch):
    monkeypatch.setattr("testbed.reference_answers.FOLDER", tmp_path)
    suite = SUITES["v1"]
    drawn = [WorldResults(world, HASE, draw_results(i)) for i, world in enumerate(REVISION)]
    measured = measure_editors(suite.rows, {"some": drawn})
    suite = suite._replace(answers=write_references("v1", measured, {"versions": {"rome": -1}}))
    found, about = read_references(suite)
    assert card_as_data(make_card(suite.rows, found)) == card_as_data(
        make_card(
            suite.rows,
            {name: {row: single_precision(one) for row, one in of.items()} for name, of in measured.items()},
        )
    )
    assert "rome" in " ".join(list_changed_references(about))
    answers_file("v1").write_bytes(answers_file("v1").read_bytes() + b" ")
    with pytest.raises(InputError, match="--anew"):
        read_references(suite)


def single_precision(one):
    numbers = {
        key: getattr(one.metric, key).astype(np.float32).astype(float) for key in ("numerator", "denominator")
    }
    return one._replace(metric=one.metric._replace(**numbers))


def answer_as_agent(results, share):
    """An editor that goes some part of the agent's way, and states every request."""
    c = results.choices
    after = c.lm[:, 0] + share * (c.agent[:, 1] - c.agent[:, 0]).clip(-c.lm[:, 0], 1)
    answer = np.where(share > 0.5, c.agent_answer[:, 1], c.lm_answer[:, 0])
    is_request = c.role == "s1r1"
    return replace_answers(
        results, after, np.where(is_request, results.cases["object"][c.case], answer), results.claims.lm[:, 0]
    )


def answer_evenly(results):
    return replace_answers(results, np.full(results.choices.lm[:, 0].shape, 1 / OPTIONS), 10, 0.5)


def answer_nothing(results):
    nothing = replace_answers(results, np.nan, -1, np.nan)
    with pytest.raises(NoNumbersError):
        mark_lost_edits(nothing, examine.Path())
    return mark_lost_edits(nothing, examine.Path(), may_be_silent=True)


def answer_another_object(results, rng):
    """As a request of something else, which also spreads."""
    c = results.choices
    drawn = distributions(rng, len(c.case))
    is_request = c.role == "s1r1"
    after = np.where(is_request[:, None], drawn, 0.7 * c.lm[:, 0] + 0.3 * drawn)
    other = (results.cases["object"][c.case] - 10 + 1) % OPTIONS + 10
    return replace_answers(
        results, after, np.where(is_request, other, 10 + after.argmax(-1)), results.claims.lm[:, 0]
    )


def test_controls_stand_at_the_bottom_and_who_goes_the_agents_way_on_top():
    drawn = {
        world: pool_results([draw_results(5 * k + i) for i in range(5)], range(5))
        for k, world in enumerate(REVISION)
    }
    rng = np.random.default_rng(1)
    editors = {
        "even": answer_evenly,
        "silent": answer_nothing,
        "other": lambda results: answer_another_object(results, rng),
        "half": lambda results: answer_as_agent(results, 0.5),
        "whole": lambda results: answer_as_agent(results, 1.0),
    }
    rows = SUITES["v1"].rows
    answered = {
        name: [WorldResults(world, HASE, edit(results)) for world, results in drawn.items()]
        for name, edit in editors.items()
    }
    card = make_card(rows, measure_editors(rows, answered))
    order = [*card.scores]
    assert set(order[:2]) == {"whole", "half"}
    assert order[2] == "none"
    assert set(order[3:]) == {"even", "silent", "other"}
    assert set(card.verdicts_of("none").values()) == {"unsure"}
    assert "better" not in card.verdicts_of("silent").values()
    assert {row.name for row in card.rows} == {row.name for row in rows if {*row.worlds} & {*REVISION}}
    assert card.scores["silent"]["states the request"].estimate.value == 0
    assert card.scores["whole"]["states the request"].estimate.value == 1
    # No single number would have done: each control is as good as whoever is better in one of them.
    assert (
        card.scores["even"]["truth values"].estimate.value
        <= card.scores["none"]["truth values"].estimate.value
    )


KINDS = {f"{kind} {i}": kind for kind, rows in (("home", 6), ("types", 3), ("joint", 2)) for i in range(rows)}
VERDICTS = st.fixed_dictionaries(dict.fromkeys(KINDS, st.sampled_from(["better", "unsure", "worse"])))


def key_of(verdicts):
    return standing_key("", count_by_kind(KINDS, verdicts))


@given(VERDICTS, st.sampled_from([*KINDS]))
def test_a_better_row_never_harms_and_the_worst_kind_counts_first(verdicts, row):
    assert key_of(verdicts | {row: "better"}) <= key_of(verdicts) <= key_of(verdicts | {row: "worse"})
    worst = min(count_by_kind(KINDS, verdicts).values(), key=lambda count: count.share).share
    at_home = {name: "better" if kind == "home" else "worse" for name, kind in KINDS.items()}
    if worst > -1:
        assert key_of(verdicts) < key_of(at_home)
    # A row in which an editor has no number is neither.
    without = {name: of for name, of in verdicts.items() if name != row}
    assert key_of(without) == key_of(verdicts | {row: "unsure"})


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(0.1, 0.2, "better"), (-0.2, -0.1, "worse"), (-0.1, 0.1, "unsure"), (0, 0, "unsure")],
)
def test_a_row_counts_where_the_interval_of_the_difference_is_off_zero(low, high, verdict):
    nothing = float("nan")
    comparison = Comparison(0.0, low, high, nothing, nothing, 1)
    score = Score(Estimate(0.0, 0.0, 0.0, 1), comparison)
    other = {"better": "worse", "worse": "better", "unsure": "unsure"}[verdict]
    assert (score.verdict("high"), score.verdict("low")) == (verdict, other)
    assert Score(score.estimate, comparison._replace(low=nothing, high=nothing)).verdict("high") == "unsure"


@pytest.fixture
def small_suite(trained, tmp_path, monkeypatch):
    """A quick look at the world of the tests, with two references."""
    runs = copied(trained, tmp_path)
    monkeypatch.setattr(examine, "read_suite", examine.read_suite)
    shrink_suite(runs, runs, references=("none", "lora-down"))
    return runs


def test_an_editor_is_examined_and_its_folder_can_be_handed_in(small_suite, tmp_path, capsys, monkeypatch):
    folder = tmp_path / "examined"
    args = ["random-target", "--quick", "--runs", str(small_suite), "--folder", str(folder)]
    assert main(args) == 0
    assert "bit for bit" in capsys.readouterr().out
    made = folder / "random-target-quick"
    verify_folder(made)
    card = read_json(made / "scorecard.json")
    assert (card["format"], card["suite"], card["examined"]) == (1, "quick", "random-target")
    assert [e["editor"] for e in card["editors"] if e["editor"] == "random-target"]
    rows = {row["row"] for row in card["rows"]}
    assert all(set(editor["numbers"]) == rows for editor in card["editors"])
    assert (made / "answers" / DEMO / "choices.parquet").is_file()
    # Again: nothing is edited, and the card is the same.
    monkeypatch.setattr("testbed.commands.edit.Sweep", None)
    assert main(args) == 0
    again = read_json(made / "scorecard.json")
    assert again["editors"] == card["editors"]

    # Other weights are said to be others; another world is refused.
    suite = examine.read_suite(QUICK, small_suite)
    (world,) = suite.worlds
    other = world.frozen | {"weights": "0", "device": "a Babbage"}
    monkeypatch.setattr(
        examine, "read_suite", lambda *_: suite._replace(worlds=[world._replace(frozen=other)])
    )
    assert main(args) == 0
    assert "a Babbage" in capsys.readouterr().out
    other |= {"cases": "0"}
    assert main(args) == 2
    assert "(cases)" in complaint(capsys)


def test_references_whose_answers_come_with_the_suite_are_not_run(small_suite, tmp_path, capsys, monkeypatch):
    """They are held against the model that they edited, and the examined editor against this one."""
    suite, edited = SUITES[QUICK], []
    edit = examine.edit_by_one
    monkeypatch.setattr(examine, "edit_by_one", lambda *args: edited.append(args[0].editors) or edit(*args))
    monkeypatch.setattr(examine, "read_references", lambda _: read_references(suite))
    read_small = examine.read_suite
    monkeypatch.setattr(
        examine, "read_suite", lambda *args: read_small(*args)._replace(references=suite.references)
    )
    folder = tmp_path / "examined"
    args = ["random-target", "--quick", "--runs", str(small_suite), "--folder", str(folder)]
    assert main(args) == 0
    assert edited == [("random-target",)]
    card = read_json(folder / "random-target-quick" / "scorecard.json")
    by_name = {one["editor"]: one for one in card["editors"]}
    assert {*by_name} == {*suite.references, "random-target"}
    shipped = {one["editor"]: one for one in reference_numbers(suite)}
    assert all(by_name[name] == shipped[name] for name in suite.references if name != "none")
    assert {number["cases"] for number in by_name["none"]["numbers"].values()} <= {0, *range(7)}
    verified = ["--verify", str(folder / "random-target-quick"), "--runs", str(small_suite)]
    assert main(verified) == 0


def test_an_editor_elsewhere_is_examined_by_its_answers(small_suite, tmp_path, capsys, monkeypatch):
    """Who does nothing there is as good as no edit here; a world that asks for texts is left out."""
    pytest.importorskip("transformers")
    from testbed.engine.file_exchange import door

    exam, answers, folder = tmp_path / "exam", tmp_path / "answers", tmp_path / "examined"
    suite = examine.read_suite(QUICK, small_suite)
    texts = next(world for world in WORLDS if world.name == COUPLES)
    with monkeypatch.context() as patch:
        patch.setattr(examine, "read_suite", lambda *_: suite._replace(worlds=[*suite.worlds, texts]))
        assert main(["--export", str(exam), "--quick", "--runs", str(small_suite)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "left out" in out
    assert "python -m testbed.examine answers --name my-editor --quick" in out
    assert {path.name for path in exam.iterdir()} == {DEMO, "README.md", "eval.yaml"}
    tasks = (exam / "eval.yaml").read_text(encoding="utf-8")
    assert [f'- id: "{row}"' in tasks for row in ("states the request", "couples, written")] == [True, False]
    door.examine(lambda *_: None, exam / DEMO, answers / DEMO, report=lambda _: None)
    words = [str(answers), "--name", "mine", "--quick", "--runs", str(small_suite), "--folder", str(folder)]
    assert main(words) == 0
    by_name = {
        e["editor"]: e["numbers"] for e in read_json(folder / "mine-quick" / "scorecard.json")["editors"]
    }
    for row, number in by_name["mine"].items():
        assert number["value"] == pytest.approx(by_name["none"][row]["value"], abs=1e-4)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"editors": ("rome",), "name": "mine"}, "no --name without one"),
        ({"editors": ("{answers}",)}, "with --name"),
        ({"editors": ("lora-down",), "lora": 7}, "its own settings"),
    ],
)
def test_who_is_examined_must_be_clear(settings, message, tmp_path):
    editors = tuple(word.format(answers=tmp_path) for word in settings["editors"])
    options = ExamineSettings(editors=editors, name=settings.get("name", ""))
    if "lora" in settings:
        config = replace(options.configs["lora-down"], steps=settings["lora"])
        options = replace(options, configs=options.configs | {"lora-down": config})
    with pytest.raises(InputError, match=message):
        examine.name_editors(options, SUITES["v1"].references)


def test_answers_have_to_be_of_every_world(tmp_path):
    (tmp_path / "demo").mkdir()
    with pytest.raises(InputError, match="no folder published"):
        examine.check_answers(examine.Examined("mine", str(tmp_path)), WORLDS)
