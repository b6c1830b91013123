"""What a score can be bought with, on the demo's world; `python -m tests.attack.bought FOLDER` does a suite.

Every editor here wins something. What it wins is held, and the row that exposes it.
"""

from pathlib import Path

import pytest

from testbed.commands import examine
from testbed.commands.cards import CheckedCard
from testbed.commands.leaderboard import find_unborne
from testbed.scorecard import UNEDITED, card_as_data
from testbed.suite import QUICK, read_suite
from tests.attack.bought import BOUGHT, score_bought

STATES, OTHERS, DAMAGE = "states the request", "others' facts", "damage"
COHERENCE, TRUTH, LOSS = "coherence gained, recalibrated", "truth values", "sure loss"
WITH_AGENT = {
    "knows the suite by heart",
    "edits where it is sure",
    "stores at the name",
    "stores wherever the name is",
}
"""Editors that take what they say from the agent."""
FOLLOWS = ("follows, shared", "follows, not shared")


@pytest.fixture(scope="module")
def card(tmp_path_factory):
    return score_bought(read_suite(QUICK, Path(tmp_path_factory.mktemp("bought"))))


@pytest.mark.parametrize(
    ("editor", "wins", "loses"),
    [
        ("knows the suite by heart", {STATES, *FOLLOWS, OTHERS, COHERENCE, TRUTH, LOSS}, set()),
        ("the same on the twin", set(), set()),
        ("edits where it is sure", {STATES}, {LOSS}),
        ("answers uniformly", {TRUTH}, {OTHERS, DAMAGE, COHERENCE, LOSS}),
        ("moves by L1 just above .02", {LOSS}, {DAMAGE, COHERENCE}),
        ("ties", {STATES}, {OTHERS, DAMAGE, COHERENCE, LOSS}),
        ("fits the temperature", {TRUTH}, {COHERENCE, LOSS}),
        ("stores at the name", {STATES, *FOLLOWS, COHERENCE}, {LOSS}),
        ("stores wherever the name is", {STATES, *FOLLOWS, COHERENCE, TRUTH}, {LOSS}),
        ("states at the name", {STATES}, {LOSS}),
    ],
)
def test_what_each_wins_and_where_it_is_exposed(editor, wins, loses, card):
    verdicts = card.verdicts_of(editor)
    assert {row for row, verdict in verdicts.items() if verdict == "better"} == wins
    assert {row for row, verdict in verdicts.items() if verdict == "worse"} == loses


def test_who_lacks_the_agents_answers_stands_behind_no_edit(card):
    order = [*card.scores]
    cheap = {*order} - {UNEDITED, "the same on the twin"} - WITH_AGENT
    assert len(cheap) == 5
    assert all(order.index(name) > order.index(UNEDITED) for name in cheap)


def test_who_edits_where_it_is_sure_states_few_requests(card):
    """Against no edit alone it looks as good as who edits all; the value of the row tells."""
    value = card.scores["edits where it is sure"][STATES].estimate.value
    assert value < 0.5 < card.scores["stores at the name"][STATES].estimate.value


def test_the_twin_does_not_bear_out_what_was_known_by_heart(card):
    data = card_as_data(card)
    made = {one["editor"]: one for one in data["editors"]}
    by_heart, twin, honest = (
        CheckedCard(Path(), None, made[name], data["rows"], False, {})
        for name in ("knows the suite by heart", "the same on the twin", "stores at the name")
    )
    assert {STATES, COHERENCE, TRUTH} <= {*find_unborne(by_heart, twin)}
    assert not find_unborne(honest, honest)
    assert len(BOUGHT) == 10


def test_the_private_twin_has_worlds_of_its_own_that_stay(tmp_path):
    twin = examine.find_suite("v2", tmp_path, True)
    frozen = examine.find_suite("v2", tmp_path)
    assert twin == examine.find_suite("v2", tmp_path, True)
    assert twin.rows == frozen.rows
    for world, other in zip(twin.worlds, frozen.worlds, strict=True):
        assert not world.frozen
        assert world.name == other.name
        assert world.run.folder != other.run.folder
        assert world.corpus.seed != other.corpus.seed
        assert world.corpus.world == other.corpus.world
        assert world.edits.cases == other.edits.cases
    (tmp_path / examine.TWIN_SECRET).unlink()
    assert examine.find_suite("v2", tmp_path, True).worlds[0].corpus.seed != twin.worlds[0].corpus.seed
