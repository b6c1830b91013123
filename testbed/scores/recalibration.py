"""The unedited model under temperatures fitted on facts that no case uses: what softening alone gains."""

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from corpus.files import hash_content, read_record, write_record
from testbed.engine.results import Results
from testbed.run.strata import STRATA, strata_of
from testbed.scores.temperature import nearest_temperatures, temper

FEWEST = 20
"""Facts that a temperature is fitted on."""


class Temperatures(NamedTuple):
    """Fitted temperatures.

    Attributes:
        one: of all facts together.
        by_stratum: of each stratum with at least FEWEST facts.
        facts: number of facts in each stratum.
    """

    one: float
    by_stratum: dict[str, float]
    facts: dict[str, int]


def fit_temperatures(stated: np.ndarray, model: np.ndarray, agent: np.ndarray) -> Temperatures | None:
    """The temperatures that bring a model nearest to the agent; None with fewer than FEWEST facts.

    Args:
        stated: int64[N].
        model, agent: float64[N, C].
    """
    if len(stated) < FEWEST:
        return None
    strata = strata_of(stated)
    counts = {name: int((strata == name).sum()) for name in STRATA}

    def fit_rows(rows: np.ndarray) -> float:
        return float(nearest_temperatures(model[rows], agent[rows], np.zeros(int(rows.sum()), int))[0])

    by_stratum = {name: fit_rows(strata == name) for name, count in counts.items() if count >= FEWEST}
    return Temperatures(fit_rows(np.ones(len(stated), bool)), by_stratum, counts)


def temperatures_file(run_folder: Path, evaluation: str, config: dict[str, Any]) -> Path:
    """Where those of some edits lie, by what the unedited model, the agent and the cases depend on.

    Args:
        evaluation: as edits are filed under.
        config: of an edits folder, see `testbed.engine.trace`.
    """
    settings = config["settings"]
    parts = [settings[name] for name in ("evaluation", "agent", "cases", "seed")]
    return run_folder / "recalibrated" / f"{evaluation}-{hash_content([config['inputs'], parts])}.json"


def write_temperatures(path: Path, temperatures: Temperatures | None) -> None:
    """Write them, or that there were too few facts."""
    write_record(path, temperatures._asdict() if temperatures else {})


def recalibrate_results(results: Results, path: Path) -> Results:
    """Results that know the unedited model recalibrated; as they are where nothing was fitted."""
    known = read_record(path) if path.exists() else {}
    if not known:
        return results
    lm = results.choices.lm[:, 0]
    strata = strata_of(results.choices.stated)
    kinds = np.array([known["by_stratum"].get(name, known["one"]) for name in STRATA])
    by_stratum = kinds[np.searchsorted(STRATA, strata)]
    recalibrated = np.stack([temper(lm, np.full(len(lm), known["one"])), temper(lm, by_stratum)], axis=1)
    return replace(results, recalibrated=recalibrated)
