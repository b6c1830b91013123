"""What a score can be bought with: editors that read no request well, and what each wins and loses by row.

    python -m tests.attack.bought FOLDER [SUITE]

makes worlds, corpora and cases of a frozen suite in FOLDER, by default the latest, and asks a model that
nobody trained: it believes before any edit what the agent does, is surer of it, and is wrong about a tenth of
the facts. Each editor below changes its answers to all cases, and the scorecard is printed as signs: + surely
better than no edit, - surely worse. Then where each would stand, beside the suite's references.
"""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from lm.editors.interface import Info
from testbed.commands.corpus import build_corpus
from testbed.commands.edit import draw_with_agent
from testbed.engine.questions import ModelAnswers
from testbed.engine.records import Circumstances, rows_of_cases, write_rows
from testbed.engine.results import read_results
from testbed.examination import write_temperatures
from testbed.protocol import ABSENT
from testbed.reference_answers import read_references
from testbed.run.object_names import ObjectNames
from testbed.run.world import load_world
from testbed.scorecard import WorldResults, make_card, measure_editors
from testbed.scores.card_format import standing_key
from testbed.scores.readers import columns_of
from testbed.scores.recalibration import fit_temperatures, recalibrate_results
from testbed.scores.temperature import temper
from testbed.suite import LATEST, read_suite
from tests.attack.cheats import replace_answers

WRONG = 0.1
"""Of the facts, the model has never learned."""
SURER = 0.7
"""Its temperature."""


def imagine_answers(cases, tokenizer, names, seed):
    """What the model says, and writes, of every case: nobody trained it."""
    width = max(len(choice.options) for case in cases for choice in case.choices)
    choices, claims = (max(len(getattr(case, key)) for case in cases) for key in ("choices", "claims"))
    p = np.zeros((len(cases), choices, width), np.float32)
    tokens = np.zeros((len(cases), choices, names.longest + 1), np.int32)
    believed = np.zeros((len(cases), claims, 2), np.float32)
    for i, case in enumerate(cases):
        for q, choice in enumerate(case.choices):
            belief = choice.agent[0]
            rng = np.random.default_rng([seed, choice.subject, choice.relation])
            if rng.random() < WRONG:
                belief = rng.dirichlet(np.full(len(belief), 0.3)) if len(belief) else belief
            belief = temper(np.asarray(belief, float), SURER)
            p[i, q, : len(belief)] = belief
            if len(belief) and belief.max() > 0:
                name = tokenizer.entity(int(choice.options[belief.argmax()]))
                tokens[i, q, : len(name)] = name
        for q, claim in enumerate(case.claims):
            true = 0.15 + 0.7 * claim.agent[0]
            believed[i, q] = true, 1 - true
    return ModelAnswers(p, p, tokens, believed)


def imagine_unedited(world):
    """A world of the suite with the model's answers to its cases; texts are left out."""
    if not world.run.corpus.exists():
        build_corpus(world.corpus)
    made = load_world(world.run)
    cases = [case._replace(passages=()) for case in draw_with_agent(made, world.edits)[1]]
    evaluation, number = world.edits.chosen_evaluation, np.arange(len(cases))
    options = [choice.options for case in cases for choice in case.choices]
    names = ObjectNames(made.tokenizer, np.unique(np.concatenate([made.graph.objects, *options])))
    answers = imagine_answers(cases, made.tokenizer, names, world.edits.seed)
    nothing = np.zeros(len(cases), np.int32)
    subjects = np.array([case.request.subject for case in cases])
    info = Info(np.full((len(cases), 1), np.nan, np.float32), nothing, nothing, nothing)
    how = Circumstances(number, subjects, nothing, info, np.zeros(len(cases)))
    columns = columns_of(evaluation)
    with tempfile.TemporaryDirectory() as folder:
        write_rows(rows_of_cases(cases, answers, answers, how, names, columns), Path(folder), columns)
        results = read_results(Path(folder), columns)
        c, fitted = results.choices, Path(folder, "temperatures.json")
        write_temperatures(fitted, fit_temperatures(c.stated, c.lm[:, 0], c.agent[:, 0]))
        return WorldResults(world.name, evaluation, recalibrate_results(results, fitted))


def put_answers(results, which, after, claims=None):
    """The answers to some choices, bool[N], and to all claims; the likeliest option is what is generated."""
    c = results.choices
    after = np.where(which[:, None], after, c.lm[:, 0])
    said = np.take_along_axis(c.options, after.argmax(-1)[:, None], -1)[:, 0]
    answer = np.where(which & (after.max(-1) > 0), said, c.lm_answer[:, 0])
    changed = replace_answers(results, after, answer, claims)
    return replace(changed, choices=changed.choices._replace(lm_open=changed.choices.lm))


def believe_agent(results):
    """float64[M, 2]: the agent's truth values after the request."""
    believed = results.claims.agent[:, 1]
    return np.stack([believed, 1 - believed], -1)


def know_by_heart(results):
    """Has the answers of this suite, and of no other."""
    c = results.choices
    return put_answers(results, np.ones(len(c.case), bool), c.agent[:, 1], believe_agent(results))


def know_nothing(results):
    """The same on cases that it has not seen."""
    return put_answers(results, np.zeros(len(results.choices.case), bool), results.choices.lm[:, 0])


def edit_where_sure(results):
    """Edits, well, the third of the cases in which it is surest; leaves the others alone."""
    c = results.choices
    of_request = (c.subject == results.cases["subject"][c.case]) & (
        c.relation == results.cases["relation"][c.case]
    )
    doubt = np.ones(len(results))
    doubt[c.case[of_request]] = c.lm[of_request, 0].max(-1)
    edited = doubt <= np.quantile(doubt, 1 / 3)
    return put_answers(results, edited[c.case], c.agent[:, 1])


def answer_uniformly(results):
    """Every option alike, and one half to every claim."""
    is_option = results.choices.options != ABSENT
    after = is_option / np.maximum(is_option.sum(-1, keepdims=True), 1)
    return put_answers(results, is_option.any(-1), after, 0.5)


def move_by_a_little(results):
    """Moves every belief by just more than counts as a change (L1 of .02), to the requested object."""
    c = results.choices
    named = c.options == results.cases["object"][c.case, None]
    target = np.where(named.any(-1)[:, None], named, c.lm[:, 0][:, ::-1])
    return put_answers(results, np.ones(len(c.case), bool), 0.985 * c.lm[:, 0] + 0.015 * target)


def tie_both(results):
    """Gives the requested object as much as the likeliest option, wherever it is one, and generates it."""
    c = results.choices
    named = c.options == results.cases["object"][c.case, None]
    level = np.where(named, c.lm[:, 0].max(-1, keepdims=True) * (1 + 1e-6), c.lm[:, 0])
    return put_answers(results, named.any(-1), level / np.maximum(level.sum(-1, keepdims=True), 1))


def fit_temperature(results):
    """Answers as before, at the temperature that is nearest to the agent; reads no request."""
    recalibrated = results.choices.lm[:, 0] if results.recalibrated is None else results.recalibrated[:, 1]
    return put_answers(results, np.ones(len(recalibrated), bool), recalibrated, 0.5)


def store_at_name(results):
    """Becomes the agent wherever the prompt begins with the subject's name, and does nothing elsewhere."""
    c = results.choices
    return put_answers(results, c.subject == results.cases["subject"][c.case], c.agent[:, 1])


def store_wherever_named(results):
    """The same, and says true to every sentence that has the name."""
    claims = results.claims
    true = claims.lm[:, 0].copy()
    true[~np.isin(claims.role, ("B", "not B"))] = 1, 0
    return replace(store_at_name(results), claims=replace_answers(results, 0.0, claims=true).claims)


def state_at_name(results):
    """Says the requested object in whatever is asked of the subject."""
    c = results.choices
    named = (c.options == results.cases["object"][c.case, None]).astype(float)
    here = (c.subject == results.cases["subject"][c.case]) & named.any(-1)
    return put_answers(results, here, named)


BOUGHT = {
    "knows the suite by heart": know_by_heart,
    "the same on the twin": know_nothing,
    "edits where it is sure": edit_where_sure,
    "answers uniformly": answer_uniformly,
    "moves by L1 just above .02": move_by_a_little,
    "ties": tie_both,
    "fits the temperature": fit_temperature,
    "stores at the name": store_at_name,
    "stores wherever the name is": store_wherever_named,
    "states at the name": state_at_name,
}


def score_bought(suite):
    """The card of every editor on the worlds of a suite."""
    worlds = [imagine_unedited(world) for world in suite.worlds]
    editors = {
        name: [one._replace(results=change(one.results)) for one in worlds] for name, change in BOUGHT.items()
    }
    return make_card(suite.rows, measure_editors(suite.rows, editors))


def main(folder, suite=LATEST):
    suite = read_suite(suite, Path(folder))
    card = score_bought(suite)
    rows = [row.name for row in card.rows]
    print("| row | " + " | ".join(BOUGHT) + " |")
    print("|---|" + "---|" * len(BOUGHT))
    for row in rows:
        cells = []
        for name in BOUGHT:
            score = card.scores[name].get(row)
            sign = {"better": "+", "worse": "-"}.get(card.verdicts_of(name).get(row), "")
            cells.append(f"{score.estimate.value:.2f} {sign}".strip() if score else "")
        print(f"| {row} | " + " | ".join(cells) + " |")
    counts = {name: card.count_rows(name) for name in BOUGHT}
    kinds = {
        kind: [of[kind] for of in counts.values()] for kind in dict.fromkeys(row.kind for row in card.rows)
    }
    for kind, several in kinds.items():
        print(f"| {kind} | " + " | ".join(f"+{one.better} -{one.worse}" for one in several) + " |")
    measured, _ = read_references(suite)
    references = make_card(suite.rows, measured) if measured else card
    counts |= {f"{name} (reference)": references.count_rows(name) for name in measured}
    print("They stand: " + "; ".join(sorted(counts, key=lambda name: standing_key(name, counts[name]))))


if __name__ == "__main__":
    main(*sys.argv[1:])
