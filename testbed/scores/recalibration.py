"""Models under temperatures fitted where they are not scored: what softening alone gains.

The unedited model has one fitted on facts that no case uses, as a reader of its own. For the skill that no
temperature buys, every reader has some fitted on the other half of the cases.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from corpus.files import hash_content, read_record
from testbed.engine.results import Results
from testbed.run.strata import STRATA, strata_of
from testbed.scores.readers import Reader
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


def recalibrate_readers(
    results: Results, readers: Mapping[str, Reader], among: np.ndarray
) -> dict[str, Reader]:
    """Readers with the temperatures that bring them nearest to the agent: `Reader.temperatures`.

    There is one for each world and stratum of the facts in question, before and after the edit. Cases of even
    numbers have what was fitted on those of odd ones, and the other way round.

    Args:
        among: bool[N], the choices that are fitted and scored; others keep a temperature of 1.
    """
    choices, cases = results.choices, results.cases
    here = np.flatnonzero(among)
    # Case by case, so that the order of questions is nothing to a sum.
    here = here[np.argsort(choices.case[here], kind="stable")]
    case = choices.case[here]
    world = cases["run"][case] if "run" in cases else np.zeros_like(case)
    stratum = np.searchsorted(STRATA, strata_of(choices.stated[here]))
    group, half = world * len(STRATA) + stratum, cases["case"][case] % 2
    known: dict[tuple[int, int], np.ndarray] = {}

    def fit(p: np.ndarray, time: int) -> np.ndarray:
        if (id(p), time) not in known:
            temperatures = known[id(p), time] = np.ones(len(choices.case))
            # For each row the nearest temperature of its group's rows in the other half.
            own, other = 2 * group + half, 2 * group + 1 - half
            keys, place = np.unique(own, return_inverse=True)
            fitted = nearest_temperatures(p[here], choices.agent[here, time], place)
            there = np.isin(other, keys)
            place = np.searchsorted(keys, np.where(there, other, own))
            temperatures[here] = np.where(there, fitted[place], 1.0)
        return known[id(p), time]

    def fit_reader(reader: Reader) -> np.ndarray:
        after = reader.probability
        if reader.lost is not None and reader.lost.any():
            # What has no numbers says nothing of a temperature.
            after = np.where(reader.lost[choices.case, None], reader.start, after)
        return np.stack([fit(p, reader.time) for p in (reader.start, after)], axis=1)

    return {name: reader._replace(temperatures=fit_reader(reader)) for name, reader in readers.items()}
