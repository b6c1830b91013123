"""Which editors were used in which runs: folders of edits, pooled over runs and seeds (DESIGN 6, 8)."""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from corpus.errors import InputError
from corpus.files import digest_of, read_json
from testbed.cases import ABSENT
from testbed.records import Outcomes, read_outcomes
from testbed.runs import Run

REQUESTS = {"evidence": "further evidence", "correction": "a correction", "do": "a change of the world"}
TOLD = 3
BOUND = re.compile(r"exact up to [\d.e+-]+")
OWN = re.compile(r"(\w+)=([^,()=]+)(?=[,)])")
PER_CASE = ("steps", "forward", "backward", "seconds")
COSTS = (*PER_CASE, "flops", "peak_bytes", "prepare_seconds")


class Edited(NamedTuple):
    """What one editor with one choice of settings did, in every run and with every seed.

    Attributes:
        name: the editor, followed by its settings where those are needed to tell it from another.
        settings: all of them but the seed.
        standard: who the edits are judged by, in words; of several bounds on its exactness, the widest.
        sweeps: how many folders there are, for each of which the editor was prepared.
        outcomes: the cases of all runs, numbered by the scalar `run`; scores immediately after each edit.
        retained: after k edits in sequence, the first k of every sequence asked again, by k.
        cost: what one edit takes, and the preparation once, see COSTS; what is not known is absent.
        seed: the least of the seeds, for the permutation tests.
    """

    name: str
    settings: dict[str, Any]
    standard: str
    sweeps: int
    outcomes: Outcomes
    retained: dict[int, Outcomes]
    cost: dict[str, float]
    seed: int

    @property
    def slug(self) -> str:
        """The name as part of a file name; a hash tells apart what the characters left cannot."""
        kept = re.sub(r"[^\w.-]+", "-", self.name)
        return kept if kept == self.name else f"{kept.strip('-')}-{digest_of(self.name)[:4]}"


def gather(runs: Sequence[Run], where: Callable[[dict], bool] = lambda _: True) -> list[Edited]:
    """Everything that was edited in some runs, grouped by editor and settings apart from the seed.

    Edits made again, because a model or an editor's code had changed, count in place of the older ones.

    Args:
        where: which edits are meant, by what the config.json of each says.

    Raises:
        InputError: a run has no edits, or a file of it is damaged.
    """
    groups: dict[str, dict[tuple[int, int], tuple[int, Path, dict]]] = {}
    for number, run in enumerate(runs):
        made = sorted(run.edits.glob("*/summary.json"), key=lambda path: path.stat().st_mtime_ns)
        folders = [path.parent for path in made]
        if not folders:
            raise InputError(
                f"{run.folder} has no edits yet; run python -m testbed.edit --run {run.name} first"
            )
        for folder in folders:
            config = _config(folder)
            if not where(config):
                continue
            kind_of_standard = re.sub(BOUND, "", config["standard"])
            key = digest_of([_lasting(config["settings"]), config["editor"], kind_of_standard])
            groups.setdefault(key, {})[number, config["settings"]["seed"]] = number, folder, config
    latest = [(key, sorted(group.values(), key=lambda one: one[:2])) for key, group in groups.items()]
    found = sorted(latest, key=lambda item: item[1][0][:2])
    names = _names([group[0][2] for _, group in found], [key for key, _ in found])
    return [_edited(name, group) for name, (_, group) in zip(names, found, strict=True)]


def pooled(parts: Sequence[Outcomes], runs: Sequence[int]) -> Outcomes:
    """The cases of several outcomes after one another, with a further scalar `run`.

    Args:
        runs: the run that each part is from; cases of different runs are in different clusters.
    """
    scalars = {name: np.concatenate([p.scalars[name] for p in parts]) for name in parts[0].scalars}
    scalars["run"] = np.repeat(runs, [len(p.objects) for p in parts])
    pairs = np.stack([scalars["run"], scalars["cluster"]], axis=1)
    scalars["cluster"] = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
    most = max(p.objects.shape[-1] for p in parts)

    def together(name: str, padding: float | None = None) -> np.ndarray:
        arrays = [getattr(p, name) for p in parts]
        if padding is not None:
            rest = [most - a.shape[-1] for a in arrays]
            arrays = [
                np.pad(a, [(0, 0)] * (a.ndim - 1) + [(0, n)], constant_values=padding)
                for a, n in zip(arrays, rest, strict=True)
            ]
        return np.concatenate(arrays)

    return Outcomes(
        scalars,
        together("objects", ABSENT),
        *(together(name, 0) for name in ("agent", "frequency", "lm", "lm_open")),
        *(together(name) for name in ("agent_answer", "lm_answer", "logic")),
    )


def case_keys(outcomes: Outcomes) -> list[tuple[int, ...]]:
    """What makes a case the same for two editors: run, subject, relation and requested object."""
    columns = [outcomes.scalars[name].tolist() for name in ("run", "subject", "relation", "object")]
    return list(zip(*columns, strict=True))


def matched(first: Outcomes, second: Outcomes) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the cases that both have, in one order; of equal requests the n-th meets the n-th."""
    left, right = ({key: i for i, key in _numbered(case_keys(o))} for o in (first, second))
    both = [key for key in left if key in right]
    return np.array([left[k] for k in both], int), np.array([right[k] for k in both], int)


def _numbered(keys: list[tuple[int, ...]]) -> Iterator[tuple[int, tuple[int, ...]]]:
    seen: dict[tuple[int, ...], int] = {}
    for i, key in enumerate(keys):
        seen[key] = seen.get(key, -1) + 1
        yield i, (*key, seen[key])


def _config(folder: Path) -> dict:
    config = read_json(folder / "config.json")
    if not {"settings", "editor", "standard"} <= config.keys() or "editor" not in config["settings"]:
        raise InputError(f"{folder} was written by another version; delete it and edit again")
    return config


def _edited(name: str, group: Sequence[tuple[int, Path, dict]]) -> Edited:
    group = sorted(group, key=lambda item: (item[0], item[2]["settings"]["seed"]))
    numbers = [number for number, _, _ in group]
    settings = [config["settings"] for _, _, config in group]
    whole = pooled([read_outcomes(folder / "cases.parquet") for _, folder, _ in group], numbers)
    asked: dict[int, list[tuple[int, Path]]] = {}
    for number, folder, _ in group:
        for path in folder.glob("retained-*.parquet"):
            asked.setdefault(_edits_before(path), []).append((number, path))
    retained = {
        k: pooled([read_outcomes(path) for _, path in asked[k]], [number for number, _ in asked[k]])
        for k in sorted(asked)
    }
    kind = settings[0].get("cases", {}).get("request", "evidence")
    # Of several worlds the one whose posteriors are least exact speaks for all.
    least = max((config for _, _, config in group), key=_bound)
    standard = f"{least['standard']}; to it every request is {REQUESTS.get(kind, kind)}"
    seed = min(s["seed"] for s in settings)
    cost = _per_case(whole) | _mean([_cost(folder) for _, folder, _ in group])
    return Edited(name, _lasting(settings[0]), standard, len(group), whole, retained, cost, seed)


def _bound(config: dict) -> float:
    return (config.get("exactness") or {}).get("bound") or 0.0


def _edits_before(path: Path) -> int:
    digits = path.stem.removeprefix("retained-")
    if not digits.isdecimal():
        raise InputError(f"{path} should be named after a number of edits; delete it and edit again")
    return int(digits)


def _cost(folder: Path) -> dict[str, float]:
    """What cost.json says, nothing where there is none."""
    path = folder / "cost.json"
    if not path.exists():
        return {}
    found = {name: value for name, value in read_json(path).items() if name in COSTS and value is not None}
    if not all(isinstance(value, int | float) for value in found.values()):
        raise InputError(f"{path} should hold numbers; delete {folder} and edit again")
    return {name: float(value) for name, value in found.items() if not math.isnan(value)}


def _per_case(outcomes: Outcomes) -> dict[str, float]:
    """Means of what was recorded with every case."""
    known = {name: outcomes.scalars[name].astype(float) for name in PER_CASE if name in outcomes.scalars}
    return {name: float(values.mean()) for name, values in known.items() if not np.isnan(values).any()}


def _mean(costs: Sequence[dict[str, float]]) -> dict[str, float]:
    shared = [name for name in COSTS if all(name in cost for cost in costs)]
    return {name: sum(cost[name] for cost in costs) / len(costs) for name in shared}


def _lasting(settings: dict) -> dict:
    return {name: value for name, value in settings.items() if name != "seed"}


def _names(configs: Sequence[dict], hashes: Sequence[str]) -> list[str]:
    """Names that tell editors apart: by a few settings in which those of one name differ, else by hash.

    An editor's own settings stand in the text of its dataclass, such as LoraDown(config=Config(rank=1)).
    """
    editors = [str(c["settings"]["editor"]).replace(":", ".") for c in configs]
    own_settings = [dict(OWN.findall(c["editor"])) for c in configs]
    leaves = [_leaves(_lasting(c["settings"])) | own for c, own in zip(configs, own_settings, strict=True)]
    names = []
    for editor, own, short in zip(editors, leaves, hashes, strict=True):
        family = [other for name, other in zip(editors, leaves, strict=True) if name == editor]
        shared = [key for key in own if all(key in other for other in family)]
        differ = [key for key in shared if any(other[key] != own[key] for other in family)]
        told = [f"{key.rpartition('.')[2].replace('_', ' ')} {own[key]}" for key in differ]
        if len(family) == 1:
            names.append(editor)
        else:
            names.append(f"{editor}, {', '.join(told)}" if 0 < len(told) <= TOLD else f"{editor} {short}")
    doubled = {name for name in names if names.count(name) > 1}
    return [f"{name} {short}" if name in doubled else name for name, short in zip(names, hashes, strict=True)]


def _leaves(settings: dict, prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in settings.items():
        found |= _leaves(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found
