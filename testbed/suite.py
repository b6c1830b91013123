"""The frozen suite `v1` of `testbed.examine`: six small worlds, their models, and what is asked of edits.

One world for each kind of belief revision, and one for each of the other evaluations. World, corpus and cases
are the same on every machine, and their hashes stand in `suite_v1.json`; a checkpoint may differ in its last
bits between processors. Nothing here may be changed: a change is a suite `v2`. Importing this loads no NumPy
and no JAX.
"""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from corpus.config import ExactConfig, TaxonomyWorld, WorldConfig
from testbed.evaluations.hase import Hase
from testbed.evaluations.leme import Leme
from testbed.evaluations.seesaw import Seesaw
from testbed.presets import CORPUS, EDIT, TRAIN
from testbed.run.runs import Run
from testbed.run.settings import CorpusSettings, TrainSettings
from testbed.settings import CaseConfig, EditSettings

SUITE = "v1"
HASHES = Path(__file__).with_name(f"suite_{SUITE}.json")
ORACLE = "oracle"
REFERENCES = ("none", "lora-down", "rome", "count-based", "self-bayes", ORACLE)
"""Who stands beside the examined editor; the oracle where the questions can be halved."""
QUICK_REFERENCES = ("none", "lora-down", "rome", "count-based")
"""The same for a quick look: those whose edits take seconds."""
PUBLISHED, PERSISTING, DRAWN, TAXONOMY, PEOPLE, COUPLES = (
    "published", "persisting", "drawn", "taxonomy", "people", "couples",
)  # fmt: skip
REVISION = (PUBLISHED, PERSISTING, DRAWN)
"""The kinds of belief revision: as Hase et al. published it, persisting facts, statements that are draws."""
QUICK = "demo"
"""The world of a quick look; published, too."""
_OF_CAUSES = {"hase": Hase(edits="upstream", reinforce=0.0)}
"""Requests that contradict the truth, of causes."""


class SuiteWorld(NamedTuple):
    """A world of the suite.

    Attributes:
        name: of the world.
        corpus, training: how it and its model are made.
        edits: what is asked; its editors are the references.
    """

    name: str
    corpus: CorpusSettings
    training: TrainSettings
    edits: EditSettings

    @property
    def run(self) -> Run:
        """Where it lies."""
        return Run(self.corpus.runs, self.corpus.run)

    @property
    def asks_texts(self) -> bool:
        """Whether models are asked to write, which they are not by files."""
        return self.name == COUPLES


def list_worlds(runs: Path, quick: bool = False, twin: str = "") -> list[SuiteWorld]:
    """The worlds of the suite; or the demo's world alone, asked less.

    Args:
        runs: folder of all runs.
        twin: secret from which worlds of the same kinds are drawn instead, empty for the frozen ones.
    """
    worlds = _list_frozen(runs, quick)
    return [_draw_twin(world, twin) for world in worlds] if twin else worlds


def _draw_twin(world: SuiteWorld, secret: str) -> SuiteWorld:
    """A world of the same kind with another seed, which only who has the secret can tell."""
    seed = int.from_bytes(hashlib.sha256(f"{secret} {world.name}".encode()).digest()[:4], "big") // 2
    where: dict[str, Any] = {"run": f"suite-{SUITE}-twin-{world.name}", "seed": seed}
    corpus, training = replace(world.corpus, **where), replace(world.training, **where)
    return SuiteWorld(world.name, corpus, training, replace(world.edits, **where))


def _list_frozen(runs: Path, quick: bool) -> list[SuiteWorld]:
    if quick:
        return [_make_world(QUICK, "tiny", 0, 24, runs, {}, 260, _OF_CAUSES)]
    larger, smaller = (WorldConfig(subjects=subjects) for subjects in (240, 160))
    persists = ExactConfig(persistence="fact", statements=12)
    draws = ExactConfig(persistence="sentence", statements=12)
    things = WorldConfig(source="taxonomy", taxonomy=TaxonomyWorld(superordinates=2))
    people = WorldConfig(source="people", subjects=100)
    couples = WorldConfig(source="coupled", subjects=90)
    of_people = {"seesaw": Seesaw(others=8, phrasings=1)}
    of_couples = {"leme": Leme(samples=1, longest=120)}
    return [
        _make_world(PUBLISHED, "tiny", 4601, 48, runs, {"world": larger}, 260, _OF_CAUSES),
        _make_world(
            PERSISTING,
            "tiny",
            4602,
            80,
            runs,
            {"world": smaller, "kind": "exact", "exact": persists},
            220,
            _OF_CAUSES,
        ),
        _make_world(
            DRAWN,
            "tiny",
            4603,
            48,
            runs,
            {"world": smaller, "kind": "exact", "exact": draws},
            220,
            _OF_CAUSES,
        ),
        _make_world(TAXONOMY, "taxi", 4604, 40, runs, {"world": things}, 240, {}),
        _make_world(PEOPLE, "seesaw", 4605, 32, runs, {"world": people}, 280, of_people),
        _make_world(COUPLES, "leme", 4606, 32, runs, {"world": couples}, 160, of_couples),
    ]


def can_edit(editor: str, edits: EditSettings) -> bool:
    """Whether an editor has a number for some edits: the oracle is scored on questions it was not told of."""
    return editor != ORACLE or edits.chosen_evaluation.can_be_halved


def _make_world(
    name: str,
    preset: str,
    seed: int,
    edits: int,
    runs: Path,
    corpus: dict[str, Any],
    steps: int,
    evaluations: dict[str, Any],
) -> SuiteWorld:
    """A world like that of a preset, with a seed of its own, and what is different in it."""
    where: dict[str, Any] = {"run": f"suite-{SUITE}-{name}", "runs": runs, "seed": seed}
    written = replace(CORPUS[preset], **where, **corpus)
    training, edit = TRAIN[preset], EDIT[preset]
    references = QUICK_REFERENCES if name == QUICK else REFERENCES
    return SuiteWorld(
        name,
        written,
        replace(training, train=replace(training.train, steps=steps), **where),
        replace(
            edit,
            editors=tuple(one for one in references if can_edit(one, edit)),
            cases=CaseConfig(edits),
            agent="exact" if written.kind == "exact" else "paper",
            evaluations=edit.evaluations | evaluations,
            **where,
        ),
    )
