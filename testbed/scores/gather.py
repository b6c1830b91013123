"""Which editors were used in which runs: folders of edits, pooled over runs and seeds (design.md 6, 8)."""

import fnmatch
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from corpus.errors import InputError
from corpus.files import hash_content, list_sealed, read_json, verify_folder
from testbed.engine.records import Columns, control_stem
from testbed.engine.results import Choices, Claims, NoNumbersError, Passages, Results, halves_of, read_results
from testbed.engine.trace import (
    CONFIG,
    check_tuned_apart,
    describe_incomplete,
    finished_edits,
    read_config,
    read_notes,
    why_left_out,
    why_misplaced,
)
from testbed.own import plain_name
from testbed.protocol import ABSENT
from testbed.run.agents import describe_standard
from testbed.run.runs import NUMERIC_PACKAGES, USUAL_FLAGS, NotMadeError, Run
from testbed.scores.readers import EvaluationMetrics, columns_of
from testbed.scores.recalibration import recalibrate_results, temperatures_file

PER_CASE = ("steps", "forward", "backward", "seconds")
ELSEWHERE = "elsewhere"
"""Among costs: another library or machine made the edits; seconds do not compare, all else is unknown."""
COSTS = (*PER_CASE, "flops", "peak_bytes", "prepare_seconds", "knew", "knew_nats", ELSEWHERE)


class EditorResults(NamedTuple):
    """What one editor with one choice of settings did, in every run and with every seed.

    Attributes:
        name: the editor, followed by its settings where those are needed to tell it from another.
        editor: its name alone.
        settings: all of them but the seed, the editor's own under "method".
        evaluation: which one it is, with its settings.
        standard: who the edits are judged by, in words; of several bounds on its exactness, the widest.
        sweeps: how many folders there are, for each of which the editor was prepared.
        results: the cases of all runs, numbered by the column `run`; scores immediately after each edit.
        later_results: after k edits in sequence, the first k of every sequence asked again, by k.
        controls: the same cases where the editor was told something else, by what; of a control that is told
        what the agent believes of some questions, whose `results` are the others, these under FITTED_HALF.
        cost: what one edit takes, and the preparation once, see COSTS; what is not known is absent.
        seed: the least of the seeds, for the permutation tests.
        made_by: versions, device and flags that the edits were made with, in words, each once.
        notes: what was noticed while they were made: edits that differ when made again, data that is read.
    """

    name: str
    editor: str
    settings: dict[str, Any]
    evaluation: EvaluationMetrics
    standard: str
    sweeps: int
    results: Results
    later_results: dict[int, Results]
    controls: dict[str, Results]
    cost: dict[str, float]
    seed: int
    made_by: Sequence[str] = ()
    notes: Sequence[str] = ()

    @property
    def protocol(self) -> str:
        """How edits follow each other, in words; of two ways nothing is compared case by case."""
        at_once, in_turn = (self.settings.get(name, 1) for name in PROTOCOL)
        words = [f"{at_once} facts at once"] * (at_once > 1) + [f"{in_turn} in sequence"] * (in_turn > 1)
        return ", ".join(words) or "one by one"

    @property
    def missing_numbers(self) -> str:
        """How many edits gave no numbers, in words; empty where all did."""
        return describe_missing_numbers(self.name, self.results)

    @property
    def slug(self) -> str:
        """The name as part of a file name; a hash tells apart what the characters left cannot."""
        name = re.sub(r"[^\w.-]+", "-", self.name)
        return name if name == self.name else f"{name.strip('-')}-{hash_content(self.name)[:4]}"


def describe_missing_numbers(name: str, results: Results) -> str:
    """How many of an editor's edits gave no numbers, in words; empty where all did."""
    lost_edits = results.lost_edits
    sentence = f"{lost_edits} of {len(results)} edits of {name} gave no numbers and count as failures."
    return sentence if lost_edits else ""


FITTED_HALF = "these questions"
"""What an editor was told that has a row for the questions whose answers it was told."""


class RecordedEvaluation(NamedTuple):
    """An evaluation by name, as results are read for it.

    Attributes:
        name: as edits are filed under.
        version: of its cases, or the hash of a user's source.
        rebuild: the evaluation with the settings that some edits were made with.
    """

    name: str
    version: int | str
    rebuild: Callable[[dict], EvaluationMetrics]


class _EditFolder(NamedTuple):
    """One folder of edits: the number of its run, where it is, and its config.json."""

    number: int
    folder: Path
    config: dict[str, Any]

    @property
    def seed(self) -> int:
        return int(self.config["settings"]["seed"])


def gather_results(
    runs: Sequence[Run],
    recorded: RecordedEvaluation,
    is_wanted: Callable[[dict], bool] = lambda _: True,
    report_left_out: Callable[[str], None] = lambda _: None,
) -> list[EditorResults]:
    """Everything that was edited for one evaluation, grouped by editor and settings apart from the seed.

    Edits by other code than today's, or of another world, corpus or model than lies in the run, are left out.

    Args:
        is_wanted: which edits are meant, by what the config.json of each says.
        report_left_out: told, in words, of each folder that is left out.

    Raises:
        InputError: a run has no such edits, a file of it is damaged, editors were tuned in its world, or its
            edits are of two models and nothing says which one is the run's.
    """
    groups: dict[str, dict[tuple[int, int], _EditFolder]] = {}
    origins: dict[str, int] = {}
    for number, run in enumerate(runs):
        folders = finished_edits(run, recorded.name)
        for remark in describe_incomplete(run, recorded.name):
            report_left_out(remark)
        fresh, models = 0, dict[str, set[str]]()
        for folder in folders:
            verify_folder(folder, CONFIG)
            config = read_config(folder)
            if why := why_misplaced(folder, config) or why_left_out(run, config, recorded.version):
                report_left_out(f"{folder} {why}")
                continue
            fresh += 1
            models.setdefault(config["settings"]["checkpoint"], set()).add(config["inputs"]["checkpoint"])
            if is_wanted(config):
                # A copy of a run, or a link to it, is no further world.
                origin = origins.setdefault(hash_content(config["inputs"]), number)
                one = _EditFolder(origin, folder, config)
                twin = groups.setdefault(_pool_key(config), {}).setdefault((origin, one.seed), one)
                if twin is not one:
                    report_left_out(f"{folder} has the edits of {twin.folder} again and is left out")
        if not fresh:
            current = "current " if folders else ""
            why = f"{run.folder} has no {current}edits yet for the evaluation {recorded.name}"
            raise NotMadeError(why, "edit", run)
        if any(len(digests) > 1 for digests in models.values()):
            raise NotMadeError(f"{run.folder} has edits of two models and no finished training", "train", run)
    check_tuned_apart(one.config for group in groups.values() for one in group.values())
    latest = [(key, sorted(group.values(), key=lambda one: one[:2])) for key, group in groups.items()]
    editors = sorted(latest, key=lambda item: item[1][0][:2])
    for _, group in editors:
        for one in group:
            verify_folder(one.folder)
    names = name_editors([group[0].config for _, group in editors], [key for key, _ in editors])
    pools, several = [], _edit_several_models(one for _, group in editors for one in group)
    for name, (_, group) in zip(names, editors, strict=True):
        try:
            pool = _pool_editor(name, group, recorded)
            which = group[0].config["settings"]["checkpoint"]
            other = f"{name} edited the {which} checkpoint of its run; not every editor here did"
            pools.append(pool._replace(notes=[*pool.notes, *[other] * several]))
        except NoNumbersError as error:
            report_left_out(f"{name} is left out: {error}")
    if editors and not pools:
        raise InputError(f"no edits of {', '.join(run.name for run in runs)} gave numbers")
    return pools


def _edit_several_models(edits: Iterable[_EditFolder]) -> bool:
    """Whether the edits of one run are of several of its checkpoints."""
    models: dict[int, set[str]] = {}
    for one in edits:
        models.setdefault(one.number, set()).add(one.config["inputs"]["checkpoint"])
    return any(len(digests) > 1 for digests in models.values())


def case_keys(results: Results) -> list[tuple[int, ...]]:
    """What makes a case the same for two editors: run, subject, relation and requested object."""
    columns = [results.cases[name].tolist() for name in ("run", "subject", "relation", "object")]
    return list(zip(*columns, strict=True))


def match_cases(first: Results, second: Results) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the cases that both have, in one order; of equal requests the n-th meets the n-th."""
    left, right = ({key: i for i, key in _number_repeats(case_keys(o))} for o in (first, second))
    both = [key for key in left if key in right]
    return np.array([left[k] for k in both], int), np.array([right[k] for k in both], int)


def _number_repeats(keys: list[tuple[int, ...]]) -> Iterator[tuple[int, tuple[int, ...]]]:
    seen: dict[tuple[int, ...], int] = {}
    for i, key in enumerate(keys):
        seen[key] = seen.get(key, -1) + 1
        yield i, (*key, seen[key])


def _pool_key(config: dict[str, Any]) -> str:
    """The same for edits that are pooled; of the standard all but the bound, which differs between worlds."""
    exactness = config["standard"]["exactness"] | {"bound": None}
    parts = [config["editor"], config["method"], exactness, config.get("flags")]
    return hash_content([settings_but_seed(config["settings"]), *parts])


def _pool_editor(name: str, group: Sequence[_EditFolder], recorded: RecordedEvaluation) -> EditorResults:
    numbers = [one.number for one in group]
    first = group[0].config
    evaluation = recorded.rebuild(first["settings"]["evaluation"])
    columns = columns_of(evaluation)

    def read_pooled(stem: str = "") -> Results:
        return pool_results([_read_results(one, columns, stem) for one in group], numbers)

    folders_by_edits: dict[int, list[_EditFolder]] = {}
    for one in group:
        for table in fnmatch.filter(list_sealed(one.folder), "retained-*-cases.parquet"):
            path = one.folder / table
            digits = path.name.removeprefix("retained-").partition("-")[0]
            if not digits.isdecimal():
                raise InputError(
                    f"{path} should be named after a number of edits; move it away and edit again"
                )
            folders_by_edits.setdefault(int(digits), []).append(one)

    def read_later(k: int) -> Results:
        parts = [_read_results(one, columns, f"retained-{k}-") for one in folders_by_edits[k]]
        return halves_of(pool_results(parts, [one.number for one in folders_by_edits[k]]))[0]

    later_results = _results_with_numbers({k: partial(read_later, k) for k in sorted(folders_by_edits)})
    results, fitted_half = halves_of(read_pooled())
    controls = _results_with_numbers(
        {control: partial(read_pooled, control_stem(control)) for control in first["controls"]}
    )
    if fitted_half is not None:
        controls[FITTED_HALF] = fitted_half
    # Of several worlds the one whose posteriors are least exact speaks for all.
    least = max(
        (one.config["standard"] for one in group),
        key=lambda judged_by: judged_by["exactness"]["bound"] or 0.0,
    )
    return EditorResults(
        name=name,
        editor=first["editor"],
        settings=settings_but_seed(first["settings"]) | {"method": first["method"]},
        evaluation=evaluation,
        standard=describe_standard(least["agent"], least["exactness"], evaluation.interpretations),
        sweeps=len(group),
        results=results,
        later_results=later_results,
        controls=controls,
        cost=_leave_known(_cost_per_case(results) | _mean_cost([read_cost(one.folder) for one in group])),
        seed=min(one.seed for one in group),
        made_by=list(
            dict.fromkeys(describe_circumstances(one.config) + describe_changes(one.config) for one in group)
        ),
        notes=list(dict.fromkeys(note for one in group for note in read_notes(one.folder))),
    )


def describe_circumstances(config: dict[str, Any]) -> str:
    """Versions, device and flags that some edits were made with, in words."""
    made, flags = config.get("made_with", {}), config.get("flags", {})
    words = [f"{name} {made[name]}" for name in NUMERIC_PACKAGES if name in made]
    words += [f"on {made['device']}"] if "device" in made else []
    words += [f"{name} {value}" for name, value in flags.items() if value != USUAL_FLAGS.get(name)]
    at_start = made.get("begun")
    return ", ".join(words) + (
        f" (begun with {describe_circumstances({'made_with': at_start})})" if at_start else ""
    )


def describe_changes(config: dict[str, Any]) -> str:
    """That some edits were made by files which no revision has, in words; empty where a revision has them."""
    revision = config.get("made_with", {}).get("revision", "")
    return f", by files that differ from their revision ({revision})" if revision.endswith("-dirty") else ""


def _read_results(one: _EditFolder, columns: Columns, stem: str) -> Results:
    run_folder, evaluation = one.folder.parents[2], one.folder.parent.name
    path = temperatures_file(run_folder, evaluation, one.config)
    return recalibrate_results(read_results(one.folder, columns, stem), path)


def _results_with_numbers(read: Mapping[Any, Callable[[], Results]]) -> dict[Any, Results]:
    """Those results that have numbers."""
    results = {}
    for key, one in read.items():
        with suppress(NoNumbersError):
            results[key] = one()
    return results


def read_cost(folder: Path) -> dict[str, float]:
    """What cost.json says, nothing where there is none."""
    path = folder / "cost.json"
    if path.name not in list_sealed(folder):
        return {}
    costs = {name: value for name, value in read_json(path).items() if name in COSTS and value is not None}
    if not all(isinstance(value, int | float) for value in costs.values()):
        raise InputError(f"{path} should hold numbers; move {folder} away and edit again")
    return {name: float(value) for name, value in costs.items() if not math.isnan(value)}


def _leave_known(cost: dict[str, float]) -> dict[str, float]:
    """Without the steps and tokens that nobody counted."""
    timed = ("seconds", "prepare_seconds", ELSEWHERE)
    return {name: cost[name] for name in cost if name in timed} if ELSEWHERE in cost else cost


def _cost_per_case(results: Results) -> dict[str, float]:
    """Means of what was recorded with every case."""
    costs = {name: results.cases[name].astype(float) for name in PER_CASE}
    return {name: float(values.mean()) for name, values in costs.items() if not np.isnan(values).any()}


def _mean_cost(costs: Sequence[dict[str, float]]) -> dict[str, float]:
    shared = [name for name in COSTS if all(name in cost for cost in costs)]
    return {name: sum(cost[name] for cost in costs) / len(costs) for name in shared}


PROTOCOL = ("batch", "sequential")
"""Settings that say how edits follow each other. 1 is each edit on the unedited model."""
SETTINGS_IN_A_NAME = 3
"""Settings that a name may have; with more, a hash tells it apart."""


def settings_but_seed(settings: dict) -> dict:
    """Settings that are the same for every seed."""
    return {name: value for name, value in settings.items() if name != "seed"}


def name_editors(configs: Sequence[dict], hashes: Sequence[str]) -> list[str]:
    """Names that tell editors apart: by a few settings in which those of one name differ, else by hash.

    Where some edit one by one and others not, each of these others has that in its name.
    """
    editors = [plain_name(c["editor"]) for c in configs]
    protocols = [{key: c["settings"].get(key, 1) for key in PROTOCOL} for c in configs]
    if any(one != protocols[0] for one in protocols):
        made = [[f", {key} {n}" for key, n in one.items() if n > 1] for one in protocols]
        editors = [name + "".join(how) for name, how in zip(editors, made, strict=True)]
    leaves = [
        flatten_settings(
            settings_but_seed(c["settings"])
            | {"own": c["method"]["settings"], "flags": c.get("flags", {}), "version": c["method"]["version"]}
        )
        for c in configs
    ]
    names = []
    for editor, settings, short in zip(editors, leaves, hashes, strict=True):
        family = [other for name, other in zip(editors, leaves, strict=True) if name == editor]
        shared = [key for key in settings if all(key in other for other in family)]
        differ = [key for key in shared if any(other[key] != settings[key] for other in family)]
        setting_texts = [f"{key.rpartition('.')[2].replace('_', ' ')} {settings[key]}" for key in differ]
        if len(family) == 1:
            names.append(editor)
        else:
            names.append(
                f"{editor}, {', '.join(setting_texts)}"
                if 0 < len(setting_texts) <= SETTINGS_IN_A_NAME
                else f"{editor} {short}"
            )
    doubled = {name for name in names if names.count(name) > 1}
    return [f"{name} {short}" if name in doubled else name for name, short in zip(names, hashes, strict=True)]


def flatten_settings(settings: dict, prefix: str = "") -> dict[str, Any]:
    """The leaves of nested settings by their dotted names."""
    leaves: dict[str, Any] = {}
    for key, value in settings.items():
        leaves |= (
            flatten_settings(value, f"{prefix}{key}.")
            if isinstance(value, dict)
            else {f"{prefix}{key}": value}
        )
    return leaves


def pool_results(parts: Sequence[Results], runs: Sequence[int]) -> Results:
    """The cases of several results after one another, with a further column `run`.

    Args:
        runs: the run that each part is from; cases of different runs are in different clusters.
    """
    cases = {name: np.concatenate([p.cases[name] for p in parts]) for name in parts[0].cases}
    cases["run"] = np.repeat(runs, [len(p) for p in parts])
    pairs = np.stack([cases["run"], cases["cluster"]], axis=1)
    cases["cluster"] = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
    first = np.cumsum([0, *(len(p) for p in parts[:-1])])
    width = max(p.choices.options.shape[-1] for p in parts)

    def join(arrays: Sequence[np.ndarray]) -> np.ndarray:
        return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)

    def join_column(which: str, name: str) -> Any:
        arrays = [getattr(getattr(p, which), name) for p in parts]
        if name == "case":
            arrays = [a + start if start else a for a, start in zip(arrays, first, strict=True)]
        if name == "facets":
            return {facet: join([a[facet] for a in arrays]) for facet in arrays[0]}
        if name in ("options", "offered", "agent", "frequency", "lm", "lm_open") and which == "choices":
            padding = ABSENT if name == "options" else 0
            arrays = [pad_last_axis(a, width, padding) for a in arrays]
        return join(arrays)

    recalibrated = [pad_last_axis(p.recalibrated, width, 0) for p in parts if p.recalibrated is not None]
    return Results(
        cases,
        Choices(*(join_column("choices", name) for name in Choices._fields)),
        Claims(*(join_column("claims", name) for name in Claims._fields)),
        parts[0].times,
        Passages(*(join_column("passages", name) for name in Passages._fields)),
        np.concatenate([np.zeros(len(p), bool) if p.lost is None else p.lost for p in parts]),
        np.concatenate(recalibrated) if len(recalibrated) == len(parts) else None,
    )


def pad_last_axis(values: np.ndarray, width: int, padding: float) -> np.ndarray:
    """Values with their last axis filled up to a width."""
    if values.shape[-1] == width:
        return values
    rest = [(0, 0)] * (values.ndim - 1) + [(0, width - values.shape[-1])]
    return np.pad(values, rest, constant_values=padding)
