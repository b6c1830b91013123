"""The chapter of Hase's evaluation."""

import math
from functools import partial

from testbed.evaluations.hase import Hase, published, support
from testbed.evaluations.hase import metrics as m
from testbed.evaluations.hase.pictures import panel_case, show_edit
from testbed.pages.chapter import ChapterPlan, SectionPlan
from testbed.pages.costs import cost_section
from testbed.pages.sections import before_section, difference_section, has_to_beat, lasting_section
from testbed.scores.distances import MOVED
from testbed.scores.frame import ALL, EDITOR, Frame
from testbed.scores.headlines import headline_subset
from testbed.scores.readers import BAYESIAN, BEFORE_EDIT, ONE_HALF
from testbed.scores.statistics import Estimate
from testbed.scores.views import View, make_table

LAWS = (*published.FOUR_LAWS, m.law_name("commute"), m.law_name("sum"), m.DUTCH_BOOK, m.TRUTH_VALUES)
COHERENCE = View(
    "logic", "Logical coherence", LAWS, who=(EDITOR, BEFORE_EDIT, BAYESIAN, ONE_HALF), ranked=True,
    note="Mean absolute violation of each axiom by the model's own truth values; 0 is coherent. Truth "
    f"values: their distance to the agent's beliefs. Where {ONE_HALF} is as good, nobody stands out.",
)  # fmt: skip
WORDS = {
    "edited fact, consequence, cause, independent fact": "the fact of the request, a fact that depends on "
    "it, the fact on which it depends, and a fact of the same subject that has nothing to do with it",
    "other consequence, grandchild, sibling": "further facts that depend on the edited fact, facts that "
    "depend on these, and facts with the same cause as the edited one",
    "neighbours": "the same two relations of other subjects, which an editor may protect",
    "others": "random facts of other subjects that no editor is told of (spot checks)",
    "moved, still": f"questions where the agent's probabilities change by more than {MOVED:.0%} in sum, and "
    "those where they do not; the edited fact is neither",
    "A, B": "the request, and a statement about another subject",
    "follows, stays": "of the answers that the agent changes, the share where the model gives the agent's "
    "new one; of those that the agent keeps, the share where the model still gives it",
}


def describe_finding(frame: Frame, editor: str) -> str:
    """The finding about one editor in a sentence, from the numbers."""
    subset = headline_subset(Hase(), frame.where(editor=editor))
    after, repeated = (frame.metrics_of(editor, subset=name) for name in (subset, m.REPEATS))
    success, follows, stays = after[m.SUCCESS], after[m.FOLLOWS], after[m.STAYS]
    parts = [f"states {_count(success)} {'new ' * (subset == m.CONTRADICTS)}facts"]
    if follows.cases:
        interval = "" if math.isnan(follows.low) else f" ({follows.low:.0%} to {follows.high:.0%})"
        parts.append(f"updates {_count(follows)} consequences{interval}")
    if stays.cases:
        parts.append(f"keeps {_count(stays)} dependent facts that should stay")
    said = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    apart = subset != ALL and repeated[m.SUCCESS].cases
    return f"{said}; of true facts requested again it states {_count(repeated[m.SUCCESS])}" if apart else said


def _count(share: Estimate) -> str:
    """How many of how many, of a share of cases."""
    return f"{round(share.value * share.cases):,} of {share.cases:,}" if share.cases else "none of 0"


PLAN = ChapterPlan(
    "Coherence with a rational agent (Hase et al. 2024)",
    "A rational agent and a language model read the same corpus. Then both received the same new facts. "
    "The agent's posteriors say what the edited model should believe. A consequence is a dependent fact "
    "whose answer the agent changes; its 95% interval is in brackets.",
    describe_finding,
    (
        difference_section,
        support.SECTION,
        partial(cost_section, metric=m.RATIO),
        partial(lasting_section, metrics=(m.SUCCESS, m.RATIO)),
        SectionPlan(
            "coherence", "Is the model coherent with itself?",
            "Truth values that the edited model gives to the request, to its negation and to its compounds. "
            "Dutch book loss is its sure loss, for a unit stake, to somebody who bets at these values.",
            tables=[lambda of: has_to_beat(make_table(COHERENCE, of.frame), ONE_HALF)],
        ),
        published.SECTION,
    ),
    (before_section,), WORDS, (panel_case, show_edit), (m.CHANGES, m.WAS_NEAR, m.FIXES), support.picture_harm,
)  # fmt: skip
