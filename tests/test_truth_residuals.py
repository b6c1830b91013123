"""The study of truth residuals: what each recipe and editor is asked, and how far each law moved."""

import numpy as np
import pytest

from experiments import stages
from experiments.studies.truth_residuals import (
    GROUPS,
    LAWS,
    RECIPES,
    WHEN,
    Settings,
    edit_settings,
    residual_table,
    residuals_of,
    study_stages,
)
from testbed.evaluations.catalogue import recorded_evaluation_named
from testbed.evaluations.dutch_book import LOGIC
from testbed.evaluations.hase import REQUEST
from testbed.evaluations.hase.published import request_groups
from testbed.run.runs import Run
from testbed.scores.gather import gather_results
from testbed.scores.summary import score_editors
from tests.edited import cases_of, rows_of, write_edits
from tests.runs import copied


@pytest.fixture
def editors(built, tmp_path):
    run = Run(copied(built, tmp_path), "x")
    write_edits(run, "lora-down", rows_of(run, cases_of(run, 24), 0.5))
    return score_editors(gather_results([run], recorded_evaluation_named("hase")))


def test_a_law_moves_by_what_is_after_less_what_was_before(editors):
    """Against the definitions of A.5, claim by claim."""
    results = editors[0].edits.results
    found, claims, choices = residuals_of(results), results.claims, results.choices
    for case in range(len(results)):
        residual = []
        for when in (0, 1):
            of_case = claims.case == case
            p = dict(zip(claims.role[of_case], claims.lm[of_case, when, 0], strict=True))
            a, not_a = p[LOGIC[0]], p[LOGIC[1]]
            row = np.flatnonzero((choices.case == case) & (choices.role == REQUEST))[0]
            asked = choices.options[row] == results.cases["object"][case]
            residual.append((abs(choices.lm_open[row, when][asked].sum() - a), abs(a - (1 - not_a))))
        for law, before, after in zip(("TF", "not"), *residual, strict=True):
            values = [found[f"{law} {when}"].by_case[case] for when in WHEN]
            assert values == pytest.approx([before, after, after - before])


def test_a_row_for_each_model_and_editor(editors):
    table = residual_table(dict.fromkeys(RECIPES, editors), GROUPS[0])
    assert [row[0] for row in table.rows] == [f"{recipe}, lora-down" for recipe in RECIPES]
    assert len(table.header) == 2 + len(LAWS) * len(WHEN)
    cases = int(request_groups(editors[0].edits.results)[GROUPS[0]].sum())
    assert table.rows[0][1] == table.rows[0][2].cases == cases


def test_every_model_has_a_run_of_its_own(tmp_path):
    settings = Settings(runs=tmp_path, worlds=2)
    runs = {settings.run(recipe, seed).folder for recipe in RECIPES for seed in settings.seeds}
    assert len(runs) == 4
    assert 0 not in settings.seeds, "the demo's world is for development"
    titles = [title for title, _ in study_stages(settings, stages.Clock(None))]
    assert len(titles) == len(set(titles)) == 3 * len(runs)
    for recipe in RECIPES:
        edits = edit_settings(settings, recipe, 1)
        assert edits.evaluations["hase"].sampler == "published"
