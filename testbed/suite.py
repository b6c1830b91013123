"""The frozen suites of `testbed.examine`: small worlds, their models, and what is asked of edits.

`suites/suites.json` has everything as data: suites, the rows of their cards, and worlds, each as options that
differ from a preset's. World, corpus and cases are the same on every machine, and their hashes stand there; a
checkpoint may differ in its last bits between processors. A suite that has been frozen is never changed: a
change is another suite. Importing this loads no NumPy and no JAX.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from corpus.files import read_json
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.run.runs import Run
from testbed.run.settings import CorpusSettings, TrainSettings, change_settings
from testbed.settings import EditSettings

FOLDER = Path(__file__).with_name("suites")
SUITES = FOLDER / "suites.json"
QUICK, LATEST = "quick", "v2"
"""A first look, and the suite that is meant where none is named."""


class Row(NamedTuple):
    """A number of the card.

    Attributes:
        name: of the row.
        says: what it is, for people.
        metric: of the worlds' evaluation.
        better: "high" or "low".
        worlds: over which it is taken, all of one kind.
        kind: of the worlds.
        parts: which of the cases, by the evaluation's subsets; all of them without any.
    """

    name: str
    says: str
    metric: str
    better: str
    worlds: tuple[str, ...]
    kind: str = ""
    parts: tuple[str, ...] = ()


class SuiteWorld(NamedTuple):
    """A world of a suite.

    Attributes:
        name: of the world.
        kind: how its facts depend on each other; editors stand by the kind in which they are worst.
        corpus, training: how it and its model are made.
        edits: what is asked.
        frozen: hashes of what it is, and how well its model knows it; empty before it is frozen.
    """

    name: str
    kind: str
    corpus: CorpusSettings
    training: TrainSettings
    edits: EditSettings
    frozen: Mapping[str, Any] = {}

    @property
    def run(self) -> Run:
        """Where it lies."""
        return Run(self.corpus.runs, self.corpus.run)

    @property
    def asks_texts(self) -> bool:
        """Whether models are asked to write, which they are not by files."""
        return self.edits.evaluation == "leme"

    def draw_twin(self, secret: str, frozen: Mapping[str, Any]) -> "SuiteWorld":
        """A world of the same kind with another seed, which only who has the secret can tell."""
        seed = int.from_bytes(hashlib.sha256(f"{secret} {self.name}".encode()).digest()[:4], "big") // 2
        where = {"run": f"suite-twin-{self.name}", "seed": seed}
        made = {key: change_settings(getattr(self, key), where) for key in ("corpus", "training", "edits")}
        return self._replace(**made, frozen=frozen)


class Suite(NamedTuple):
    """Worlds, the rows of a card, and the editors that it compares.

    Attributes:
        name: of the suite, as cards have it.
        title: what it is called above a card.
        references: who stands beside who is examined.
        answers: hash of the references' answers that come with the suite; empty where they are run.
    """

    name: str
    title: str
    worlds: list[SuiteWorld]
    rows: list[Row]
    references: tuple[str, ...]
    answers: str = ""


def list_suites() -> list[str]:
    """The names of the suites."""
    return [*read_json(SUITES)["suites"]]


def read_suite(name: str, runs: Path) -> Suite:
    """A suite by name.

    Args:
        runs: folder of all runs, in which its worlds lie.
    """
    data = read_json(SUITES)
    of = data["suites"][name]
    worlds = [_read_world(one, data["worlds"][one], runs) for one in of["worlds"]]
    rows = _read_rows(data["rows"], {world.name: world.kind for world in worlds})
    title = "a quick look" if name == QUICK else f"suite {name}"
    return Suite(name, title, worlds, rows, tuple(of["references"]), of.get("answers", ""))


def _read_world(name: str, data: Mapping[str, Any], runs: Path) -> SuiteWorld:
    """A world like that of a preset, with a seed of its own, and what is different in it."""
    where = {"run": f"suite-{name}", "runs": runs, "seed": data["seed"]}
    corpus, training, edits = (
        change_settings(of[data["preset"]], where | data[part])
        for of, part in ((CORPUS, "corpus"), (TRAIN, "train"), (EDIT, "edit"))
    )
    return SuiteWorld(name, data["kind"], corpus, training, edits, data.get("frozen", {}))


def _read_rows(rows: list[dict[str, Any]], kinds: Mapping[str, str]) -> list[Row]:
    """The rows of some worlds, by kind; one that is said to be of each world is a row in each."""
    found = []
    for row in rows:
        each = row.get("each", ())
        named = [(f"{world}, {row['row']}", [world]) for world in each] or [(row["row"], row["worlds"])]
        for name, worlds in named:
            there = tuple(world for world in worlds if world in kinds)
            if there:
                about = {key: row[key] for key in ("says", "metric", "better")}
                found.append(
                    Row(name, **about, worlds=there, kind=kinds[there[0]], parts=tuple(row.get("parts", ())))
                )
    order = [*dict.fromkeys(kinds.values())]
    return sorted(found, key=lambda row: order.index(row.kind))
