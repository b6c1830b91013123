"""Cards that were handed in and say something else than their answers are left out, each by name."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus.errors import InputError
from corpus.files import list_sealed, read_json, seal_folder, write_json
from testbed import report
from testbed.commands import examine
from testbed.commands.cards import check_seal, find_unborne
from testbed.commands.leaderboard import Referee
from testbed.examine import main
from tests.attack.broken import break_card, try_broken
from tests.attack.trials import shrink_suite
from tests.runs import complaint, copied

DEMO, PUBLISHED, PERSISTING = "demo", "published", "persisting"
NAME = "lora-down-quick"


@pytest.fixture(scope="module")
def suite(trained, tmp_path_factory):
    """A suite of one small world, and a folder that was handed in: (runs, folder, who checks)."""
    place = tmp_path_factory.mktemp("suite")
    runs = copied(trained, place / "runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(examine, "read_suite", examine.read_suite)
        shrink_suite(runs, runs)
        assert main(["lora-down", "--quick", "--runs", str(runs), "--folder", str(place / "examined")]) == 0
        yield runs, place / "examined" / NAME, Referee(runs)


@pytest.fixture
def handed(suite, tmp_path):
    """A copy of the folder."""
    shutil.copytree(suite[1], tmp_path / "examined" / NAME)
    return tmp_path / "examined" / NAME


def seal(folder):
    seal_folder(folder, list_sealed(folder))


def change_card(folder, change):
    card = read_json(folder / "scorecard.json")
    change(card, next(one for one in card["editors"] if one["editor"] == card["examined"]))
    write_json(folder / "scorecard.json", card)


def change_column(folder, table, column, change):
    path = folder / "answers" / DEMO / f"{table}.parquet"
    held = pq.read_table(path)
    at = held.column_names.index(column)
    array = pa.array(change(held[column].to_pylist()), held.schema.field(column).type)
    pq.write_table(held.set_column(at, held.schema.field(column), array), path)


def test_a_card_that_was_made_here_holds(suite, handed, capsys):
    assert main(["--verify", str(handed), "--runs", str(suite[0])]) == 0
    assert "holds: lora-down, this project's editor" in " ".join(capsys.readouterr().out.split())
    (handed / "notes.txt").write_text("kept")
    assert report.main(["--leaderboard", str(handed.parent), "--runs", str(suite[0])]) == 0
    (entry,) = json.loads((handed.parent / "leaderboard.json").read_text())["editors"]
    own = next(e for e in read_json(handed / "scorecard.json")["editors"] if e["editor"] == "lora-down")
    assert entry["numbers"] == own["numbers"]
    assert entry["about"]["origin"] == "native: lora-down"


def test_a_card_of_the_whole_suite_holds_and_one_of_fewer_worlds_does_not(
    trained, tmp_path, capsys, monkeypatch
):
    """A suite of two worlds, under names of the whole one."""
    runs, folder = copied(trained, tmp_path / "runs"), tmp_path / "examined" / "lora-down-v1"
    monkeypatch.setattr(examine, "read_suite", examine.read_suite)
    shrink_suite(runs, runs, (PUBLISHED, PERSISTING))
    words = ["--suite", "v1", "--runs", str(runs), "--folder", str(folder.parent)]
    assert main(["lora-down", *words]) == 0
    capsys.readouterr()
    assert main(["--verify", str(folder), "--runs", str(runs)]) == 0
    assert "holds: lora-down" in " ".join(capsys.readouterr().out.split())
    card = read_json(folder / "scorecard.json")
    assert {row["row"]: row["worlds"] for row in card["rows"]}["damage"] == [PUBLISHED, PERSISTING]
    handed = shutil.copytree(folder, tmp_path / folder.name)
    for what in ("worlds", "methods"):
        change_card(handed, lambda card, own, what=what: card[what].pop(PERSISTING))
        seal(handed)
        assert main(["--verify", str(handed), "--runs", str(runs)]) == 2
        assert f"{what}: {PUBLISHED}, where the suite has" in complaint(capsys)
        write_json(handed / "scorecard.json", card)


def test_what_users_keep_beside_a_card_stays_when_it_is_written_again(suite, handed):
    (handed / "explorer").mkdir()
    kept = {handed / "notes.txt": "mine", handed / "explorer" / "index.html": "a page"}
    for path, text in kept.items():
        path.write_text(text)
    words = ["lora-down", "--quick", "--runs", str(suite[0]), "--folder", str(handed.parent)]
    assert main(words) == 0
    assert {path: path.read_text() for path in kept} == kept
    assert main(["--verify", str(handed), "--runs", str(suite[0])]) == 0


def set_damage(**changes):
    return lambda card, own: own["numbers"]["damage"].update(changes)


def improve_no_edit(card, own):
    unedited = next(one for one in card["editors"] if one["editor"] == "none")
    unedited["numbers"]["damage"]["value"] = -0.3


def turn_verdict(card, own):
    over = own["numbers"]["damage"]["over no edit"]
    over["verdict"] = "worse" if over["verdict"] == "better" else "better"


SAYS = {
    "counts": (lambda card, own: own.update({"rows surely better": 99}), "rows surely better is 99"),
    "verdicts": (turn_verdict, "damage"),
    "a value of 7": (set_damage(value=7.0), "numbers.damage.value is 7.0"),
    "an interval": (set_damage(low=-0.5), "damage"),
    "cases": (set_damage(cases=10**6), "damage"),
    "no edit": (improve_no_edit, "none: numbers.damage"),
    "negative counts": (lambda card, own: own.update({"rows surely worse": -4}), ">= 0"),
    "no row": (lambda card, own: own["numbers"].clear(), "is nothing"),
    "no world": (lambda card, own: card.update(worlds={}, methods={}), "length >= 1"),
    "another world": (lambda card, own: card["worlds"][DEMO].update(corpus="0"), "not the suite's (corpus)"),
    "more worlds": (lambda card, own: card["worlds"].update(moon=card["worlds"][DEMO]), "moon"),
    "another suite": (lambda card, own: card.update(suite="v9"), "suite: v9"),
    "another method": (lambda card, own: card["methods"][DEMO].update(version=99), "method"),
    "a missing key": (lambda card, own: card.pop("date"), "missing required field `date`"),
    "no text": (lambda card, own: card["methods"][DEMO].update(editor=None), "methods"),
    "a path": (lambda card, own: card.update(methods={"../../x": card["methods"][DEMO]}), "nobody sealed"),
}  # fmt: skip


@pytest.mark.parametrize("what", SAYS)
def test_a_card_that_says_something_else_is_left_out_and_named(what, suite, handed, capsys):
    change, why = SAYS[what]
    change_card(handed, change)
    seal(handed)
    with pytest.raises(InputError, match=r"scorecard\.json|config\.json|sha256") as error:
        suite[2].check(handed)
    assert why in str(error.value)


def test_a_card_that_was_changed_after_it_was_sealed_is_left_out(suite, handed):
    change_card(handed, lambda card, own: card.update(date="2000-01-01"))
    with pytest.raises(InputError, match="differs from its checksum"):
        suite[2].check(handed)
    shutil.copy(handed / "scorecard.json", handed / "answers" / DEMO / "x.json")
    write_json(handed / "sha256.json", {"../x": "0"})
    with pytest.raises(InputError, match="not a list of checksums|does not lie in its folder"):
        suite[2].check(handed)


def shift(values):
    return [[1.0, *[0.0] * (len(row) - 1)] for row in values]


ANSWERED = {
    "beliefs": ("choices", "agent_evidence", shift, "other choices.agent"),
    "the model before": ("choices", "lm_before", shift, "before any edit"),
    "impossible answers": ("choices", "lm_after", lambda v: [[1.0] * len(row) for row in v], "row 1"),
    "negative ones": ("choices", "lm_after", lambda v: [[-0.5] * len(row) for row in v], "none"),
    "cases": ("cases", "object", lambda v: v[::-1], "cases.object"),
    "what depends on what": ("cases", "cluster", lambda v: [*range(len(v))][::-1], "cases.cluster"),
    "questions told": ("choices", "is_told", lambda v: [True] * len(v), "choices.is_told"),
    "seconds": ("cases", "seconds", lambda v: [float("nan")] * len(v), "seconds"),
    "lists of other lengths": (
        "choices",
        "lm_after",
        lambda v: [row[1:] for row in v],
        "no tables of answers",
    ),
}


@pytest.mark.parametrize("what", ANSWERED)
def test_answers_to_something_else_or_of_no_model_are_left_out(what, suite, handed):
    table, column, change, why = ANSWERED[what]
    held = pq.read_table(handed / "answers" / DEMO / f"{table}.parquet")
    column = column if column in held.column_names else next(c for c in held.column_names if "agent_" in c)
    change_column(handed, table, column, change)
    seal(handed)
    with pytest.raises(InputError, match="answers") as error:
        suite[2].check(handed)
    assert why in str(error.value)


def test_more_rows_than_cases_have_are_not_read(suite, handed):
    path = handed / "answers" / DEMO / "choices.parquet"
    held = pq.read_table(path)
    pq.write_table(pa.concat_tables([held, held]), path)
    seal(handed)
    with pytest.raises(InputError, match="rows, where the world's cases ask for"):
        suite[2].check(handed)


def test_who_only_says_that_it_is_ours_is_a_guest(suite, handed, capsys):
    for change in (
        lambda card, own: card.update(code="0" * 12),
        lambda card, own: card.update(code=""),
    ):
        change_card(handed, change)
        seal(handed)
        assert not suite[2].check(handed).is_native
    config = handed / "answers" / DEMO / "config.json"
    name = "lm.editors.keyed.method:Keyed"
    content = read_json(config)
    write_json(config, content | {"method": content["method"] | {"editor": name}})
    change_card(handed, lambda card, own: card["methods"][DEMO].update(editor=name))
    seal(handed)
    assert not suite[2].check(handed).is_native
    assert report.main(["--leaderboard", str(handed.parent), "--runs", str(suite[0])]) == 0
    assert f"guest: {name}" in (handed.parent / "index.html").read_text(encoding="utf-8")


def test_a_forged_first_folder_throws_nobody_out(suite, handed, capsys):
    forged = shutil.copytree(handed, handed.with_name("a-forged"))
    change_card(forged, lambda card, own: card["worlds"][DEMO].update(corpus="0"))
    seal(forged)
    assert report.main(["--leaderboard", str(handed.parent), "--runs", str(suite[0])]) == 0
    assert "a-forged is left out" in " ".join(capsys.readouterr().out.split())
    entries = json.loads((handed.parent / "leaderboard.json").read_text())["editors"]
    assert [entry["folder"] for entry in entries] == [NAME]
    shutil.rmtree(handed)
    assert report.main(["--leaderboard", str(forged.parent), "--runs", str(suite[0])]) == 2
    assert "no scorecard.json" in complaint(capsys)


def test_no_broken_card_is_taken(suite, handed):
    card = read_json(handed / "scorecard.json")

    def check(name, content):
        (handed / name).write_bytes(content)
        seal(handed)
        suite[2].check(handed)

    refused = try_broken(break_card(card), check, 60)
    assert refused.total() == 60


def test_who_knows_the_suite_by_heart_is_marked_by_the_twin(suite, handed):
    """What it wins on the frozen cases, it does not win on cases that it has not seen."""
    checked = suite[2].check(handed)

    def with_differences(low, high, verdict):
        over = {"difference": (low + high) / 2, "low": low, "high": high, "verdict": verdict}
        number = {"value": 0.5, "low": 0.4, "high": 0.6, "cases": 6, "over no edit": over}
        return checked._replace(made=checked.made | {"numbers": {"states the request": number}})

    by_heart, unknown = with_differences(0.8, 1.0, "better"), with_differences(-0.1, 0.1, "unsure")
    assert find_unborne(by_heart, unknown) == ["states the request"]
    assert not find_unborne(by_heart, with_differences(0.7, 0.9, "better"))
    assert not find_unborne(unknown, by_heart)
    assert check_seal(handed).examined == "lora-down"
    assert np.isfinite(list(checked.seconds.values())).all()
