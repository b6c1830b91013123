"""The frozen suite and its scorecard: hashes, rows, who stands where, and the folder that is handed in."""

from dataclasses import replace

import numpy as np
import pytest

from corpus.errors import InputError
from corpus.files import CHECKSUMS, read_json, seal_folder, verify_folder, write_json
from testbed.commands import examine
from testbed.engine.results import NoNumbersError, mark_lost_edits
from testbed.evaluations.hase import Hase
from testbed.examine import main
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.run.runs import ORIGIN, folder_digest
from testbed.run.world import load_world
from testbed.scorecard import ROWS, Score, WorldResults, make_card
from testbed.scores.card_format import BOUND
from testbed.scores.gather import pool_results
from testbed.scores.statistics import Comparison, Estimate
from testbed.settings import CaseConfig, ExamineSettings
from testbed.suite import COUPLES, HASHES, QUICK, REFERENCES, REVISION, SuiteWorld, can_edit, list_worlds
from tests.attack.cheats import replace_answers
from tests.attack.test_cheats import draw_results
from tests.random_answers import HASE, OPTIONS, distributions
from tests.runs import complaint, copied

WORLDS = [*list_worlds(examine.Path("runs")), *list_worlds(examine.Path("runs"), quick=True)]


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_what_is_asked_is_what_was_frozen(world):
    known = read_json(HASHES)["worlds"][world.name]
    assert not examine.unlike_settings(known["settings"], world.edits.settings_as_data())
    newer = world.edits.settings_as_data() | {"newer": 1}
    assert not examine.unlike_settings(known["settings"], newer)
    other = newer | {"cases": newer["cases"] | {"credence": 0.5}}
    (difference,) = examine.unlike_settings(known["settings"], other)
    assert "credence" in difference


@pytest.mark.parametrize("name", [world.name for world in WORLDS])
def test_worlds_corpora_and_cases_are_the_frozen_ones(name, tmp_path):
    (world,) = (w for w in (*list_worlds(tmp_path), *list_worlds(tmp_path, quick=True)) if w.name == name)
    known = read_json(HASHES)["worlds"][name]
    examine.build_corpus(world.corpus)
    made = load_world(world.run)
    digests = examine.digest_world(world, made, examine.draw_with_agent(made, world.edits)[1])
    assert {key: digests[key] for key in BOUND} == {key: known[key] for key in BOUND}


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
    (world,) = list_worlds(tmp_path, quick=True)
    known = read_json(HASHES)["worlds"][QUICK]
    monkeypatch.setattr(examine, "train", None)
    with pytest.raises(InputError, match=r"is not the world demo of the suite v1 \(corpus\)"):
        examine.prepare_world(world, known | {"corpus": "0"})
    with pytest.raises(InputError, match="does not know the world demo"):
        examine.prepare_world(world, None)


def test_at_most_sixteen_rows_each_a_metric_with_a_direction():
    by_world = {world.name: world.edits.chosen_evaluation for world in WORLDS}
    assert len(ROWS) <= 16
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert {name for row in ROWS for name in row.worlds} == set(by_world)
    for row in ROWS:
        for world in row.worlds:
            (better,) = (m.better for m in by_world[world].metrics if m.id == row.metric)
            assert better in ("high", "low")


def test_every_reference_can_edit_every_world_that_it_stands_in():
    """The oracle is scored on the half of the questions that it is not told of."""
    for world in WORLDS:
        assert "oracle" not in world.edits.editors or world.edits.chosen_evaluation.can_be_halved
        assert can_edit("oracle", world.edits) == world.edits.chosen_evaluation.can_be_halved
        assert all(can_edit(editor, world.edits) for editor in world.edits.editors)
    assert [world.name for world in WORLDS if "oracle" in world.edits.editors] == list(REVISION)


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
    kinds = (*REVISION, QUICK)
    drawn = {
        kind: pool_results([draw_results(5 * k + i) for i in range(5)], range(5))
        for k, kind in enumerate(kinds)
    }
    rng = np.random.default_rng(1)
    editors = {
        "even": answer_evenly,
        "silent": answer_nothing,
        "other": lambda results: answer_another_object(results, rng),
        "none": lambda results: replace_answers(
            results, results.choices.lm[:, 0], results.choices.lm_answer[:, 0], results.claims.lm[:, 0]
        ),
        "half": lambda results: answer_as_agent(results, 0.5),
        "whole": lambda results: answer_as_agent(results, 1.0),
    }
    card = make_card(
        {
            name: [WorldResults(kind, HASE, edit(results)) for kind, results in drawn.items()]
            for name, edit in editors.items()
        }
    )
    order = list(card.scores)
    assert order[0] == "whole"
    assert order[2] == "none"
    assert set(order[3:]) == {"even", "silent", "other"}
    assert card.count_rows("none") == (0, 0)
    assert card.count_rows("silent")[0] == 0
    assert {row.name for row in card.rows} == {row.name for row in ROWS if {*row.worlds} & {*kinds}}
    assert card.scores["silent"]["states the request"].estimate.value == 0
    assert card.scores["whole"]["states the request"].estimate.value == 1
    # No single number would have done: each control is as good as whoever is better in one of them.
    assert (
        card.scores["even"]["truth values"].estimate.value
        <= card.scores["none"]["truth values"].estimate.value
    )


@pytest.mark.parametrize(
    ("low", "high", "sign"), [(0.1, 0.2, 1), (-0.2, -0.1, -1), (-0.1, 0.1, 0), (0, 0, 0)]
)
def test_a_row_counts_where_the_interval_of_the_difference_is_off_zero(low, high, sign):
    nothing = float("nan")
    comparison = Comparison(0.0, low, high, nothing, nothing, 1)
    score = Score(Estimate(0.0, 0.0, 0.0, 1), comparison)
    assert score.standing("high") == sign
    assert score.standing("low") == -sign
    assert Score(score.estimate, comparison._replace(low=nothing, high=nothing)).standing("high") == 0


@pytest.fixture
def small_suite(trained, tmp_path, monkeypatch):
    """A suite of one world, that of the tests, with two references."""
    runs = copied(trained, tmp_path)
    edits = replace(
        EDIT["tiny"], editors=("none", "lora-down"), run="x", runs=runs, cases=CaseConfig(8),
        configs=EDIT["tiny"].configs | {"lora-down": replace(EDIT["tiny"].configs["lora-down"], steps=2)},
        evaluations={"hase": Hase(edits="upstream", reinforce=0.0)},
    )  # fmt: skip
    where = {"run": "x", "runs": runs}
    world = SuiteWorld(QUICK, replace(CORPUS["tiny"], **where), replace(TRAIN["tiny"], **where), edits)
    monkeypatch.setattr(examine, "list_worlds", lambda *_: [world])
    made = load_world(world.run)
    digests = examine.digest_world(world, made, examine.draw_with_agent(made, edits)[1])
    digests |= examine.describe_model(world, made)
    hashes = tmp_path / "hashes.json"
    write_json(hashes, {"worlds": {QUICK: digests | {"device": "here"}}})
    monkeypatch.setattr(examine, "HASHES", hashes)
    return runs


def test_an_editor_is_examined_and_its_folder_can_be_handed_in(small_suite, tmp_path, capsys, monkeypatch):
    folder = tmp_path / "examined"
    args = ["random-target", "--quick", "--runs", str(small_suite), "--folder", str(folder)]
    assert main(args) == 0
    assert "bit for bit" in capsys.readouterr().out
    made = folder / "random-target-v1-quick"
    verify_folder(made)
    card = read_json(made / "scorecard.json")
    assert (card["format"], card["suite"], card["examined"]) == (1, "v1", "random-target")
    assert [e["editor"] for e in card["editors"] if e["editor"] == "random-target"]
    rows = {row["row"] for row in card["rows"]}
    assert all(set(editor["numbers"]) == rows for editor in card["editors"])
    assert (made / "answers" / QUICK / "choices.parquet").is_file()
    # Again: nothing is edited, and the card is the same.
    monkeypatch.setattr("testbed.commands.edit.Sweep", None)
    assert main(args) == 0
    again = read_json(made / "scorecard.json")
    assert again["editors"] == card["editors"]

    # Other weights are said to be others; another world is refused.
    known = read_json(examine.HASHES)
    known["worlds"][QUICK] |= {"weights": "0", "device": "a Babbage"}
    write_json(examine.HASHES, known)
    assert main(args) == 0
    assert "a Babbage" in capsys.readouterr().out
    known["worlds"][QUICK]["cases"] = "0"
    write_json(examine.HASHES, known)
    assert main(args) == 2
    assert "(cases)" in complaint(capsys)


def test_an_editor_elsewhere_is_examined_by_its_answers(small_suite, tmp_path, capsys, monkeypatch):
    """Who does nothing there is as good as no edit here; a world that asks for texts is left out."""
    pytest.importorskip("transformers")
    from testbed.engine.file_exchange import door

    exam, answers, folder = tmp_path / "exam", tmp_path / "answers", tmp_path / "examined"
    (world,) = examine.list_worlds()
    with monkeypatch.context() as patch:
        patch.setattr(examine, "list_worlds", lambda *_: [world, world._replace(name=COUPLES)])
        assert main(["--export", str(exam), "--quick", "--runs", str(small_suite)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "left out" in out
    assert "python -m testbed.examine answers --name my-editor --quick" in out
    assert {path.name for path in exam.iterdir()} == {QUICK, "README.md", "eval.yaml"}
    tasks = (exam / "eval.yaml").read_text(encoding="utf-8")
    assert [f'- id: "{row}"' in tasks for row in ("states the request", "couples, written")] == [True, False]
    door.examine(lambda *_: None, exam / QUICK, answers / QUICK, report=lambda _: None)
    words = [str(answers), "--name", "mine", "--quick", "--runs", str(small_suite), "--folder", str(folder)]
    assert main(words) == 0
    by_name = {
        e["editor"]: e["numbers"] for e in read_json(folder / "mine-v1-quick" / "scorecard.json")["editors"]
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
        examine.name_editors(options, REFERENCES)


def test_answers_have_to_be_of_every_world(tmp_path):
    (tmp_path / "demo").mkdir()
    with pytest.raises(InputError, match="no folder published"):
        examine.check_answers(examine.Examined("mine", str(tmp_path)), WORLDS)
