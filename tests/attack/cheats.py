"""Editors that read no request, or fail where nobody looks, as changes of results; and what they score.

    python -m tests.attack.cheats runs/demo

prints every cheat beside no edit in every headline of Hase's, on the cases that a run's editors had; then the
run's editors under the old references and the recalibrated ones.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from testbed.engine.results import mark_lost_edits
from testbed.evaluations.catalogue import recorded_evaluation_named
from testbed.evaluations.hase.metrics import (
    DAMAGE,
    DUTCH_BOOK,
    FOLLOWS,
    GAINED,
    RATIO,
    SKILL,
    SKILL_MOVED,
    SKILL_RECALIBRATED,
    SKILL_STILL,
    SUCCESS,
    TRUTH_VALUES,
)
from testbed.protocol import ABSENT
from testbed.run.runs import Run
from testbed.scores.gather import gather_results
from testbed.scores.readers import NO_EDIT
from testbed.scores.summary import measure_reader
from testbed.scores.temperature import temper
from tests.edited import HASE

HEADLINES = (SUCCESS, GAINED, SKILL_RECALIBRATED)
"""What no cheat gains in."""
NOT_HELD = (FOLLOWS, RATIO, SKILL, SKILL_MOVED, SKILL_STILL, DAMAGE, DUTCH_BOOK, TRUTH_VALUES)
"""In most of them a cheat is above no edit."""
OF_SKILL = (SKILL, SKILL_MOVED, SKILL_STILL, DAMAGE)


def replace_answers(results, after, answer=None, claims=None):
    """The results of an editor that says this after the edit."""
    c, lm, generated = results.choices, results.choices.lm.copy(), results.choices.lm_answer.copy()
    lm[:, 1] = after
    if answer is not None:
        generated[:, 1] = answer
    of_claims = results.claims.lm.copy()
    if claims is not None:
        of_claims[:, 1] = claims
    return replace(
        results, choices=c._replace(lm=lm, lm_answer=generated), claims=results.claims._replace(lm=of_claims)
    )


def soften(temperature):
    return lambda results, _: replace_answers(results, temper(results.choices.lm[:, 0], temperature))


def soften_by_stratum(results, rng):
    temperatures = rng.uniform(1, 4, 3)[np.searchsorted([1, 4], results.choices.stated, side="right")]
    return replace_answers(results, temper(results.choices.lm[:, 0], temperatures))


def soften_by_case(results, rng):
    return replace_answers(
        results, temper(results.choices.lm[:, 0], rng.uniform(1, 4, len(results))[results.choices.case])
    )


def fall_silent(results, _):
    return replace_answers(results, 0.0, ABSENT, 0.0)


def drop_out(results, rng):
    """Damages every answer, and leaves NaN in the half of cases where that is worst."""
    c = results.choices
    noise = temper(c.lm[:, 0][:, rng.permutation(c.lm.shape[-1])], 2.0)
    harm = np.bincount(c.case, np.abs(noise - c.agent[:, 1]).sum(-1), len(results))
    after = np.where((harm > np.median(harm))[c.case, None], np.nan, noise)
    return mark_lost_edits(replace_answers(results, after), Path("cheat"))


def copy_frequency(results, rng):
    """Gives the requested object its share of some statements, wherever it is an option."""
    c = results.choices
    named = c.options == results.cases["object"][c.case, None]
    share = rng.uniform(0.05, 0.45)
    after = np.where(named.any(-1)[:, None], (1 - share) * c.lm[:, 0] + share * named, c.lm[:, 0])
    return replace_answers(results, after)


def answer_the_same(results, _):
    """Every option alike, and one half to every claim."""
    is_option = results.choices.options != ABSENT
    return replace_answers(results, is_option / is_option.sum(-1, keepdims=True), None, 0.5)


def repeat_one_object(results, _):
    """One object for everything: the one that is right most often of what depends on edits."""
    c = results.choices
    wanted, counts = np.unique(c.agent_answer[c.role == "s1r2", 1], return_counts=True)
    obj = int(wanted[counts.argmax()])
    after = (c.options == obj).astype(float)
    return replace_answers(results, after, np.where(c.lm_answer[:, 1] == ABSENT, ABSENT, obj))


CHEATS = {
    "temperature 1.2": soften(1.2),
    "temperature 1.5": soften(1.5),
    "temperature 3": soften(3.0),
    "temperature by stratum": soften_by_stratum,
    "temperature by case": soften_by_case,
    "mute": fall_silent,
    "dropout": drop_out,
    "copier of the request's frequency": copy_frequency,
    "constant": answer_the_same,
    "one object for everything": repeat_one_object,
}


def measure(results, reader="x"):
    return measure_reader(HASE, results, HASE.readers(results, "x")[reader])


def forget_edits(results):
    """As if the edits had done nothing."""
    c = results.choices
    return replace_answers(results, c.lm[:, 0], c.lm_answer[:, 0], results.claims.lm[:, 0])


def main(folder):
    path = Path(folder)
    editors = gather_results([Run(path.parent, path.name)], recorded_evaluation_named("hase"))
    results = forget_edits(editors[0].results)
    rows = {NO_EDIT: measure(results, NO_EDIT)}
    rows |= {name: measure(cheat(results, np.random.default_rng(0))) for name, cheat in CHEATS.items()}
    print_rows("Every headline", rows, HEADLINES)
    print_rows("Not held: no headlines", rows, NOT_HELD)
    of_run = {one.name: measure(one.results) for one in editors}
    beside = [name for old in OF_SKILL for name in (old, f"{old}.over_recalibrated")]
    print_rows("The run's editors, old beside new", of_run, [*HEADLINES[:-1], *beside, SKILL_RECALIBRATED])


def print_rows(title, rows, names):
    print(f"\n{title}\n\n| reader | " + " | ".join(names) + " |")
    print("|---|" + "---:|" * len(names))
    for reader, values in rows.items():
        numbers = [f"{round(values[name].value(), 2) + 0.0:.2f}" for name in names]
        print(f"| {reader} | " + " | ".join(numbers) + " |")


if __name__ == "__main__":
    main(sys.argv[1])
