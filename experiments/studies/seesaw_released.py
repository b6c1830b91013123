"""Which of Seesaw-CF's released requests a world of real people can pose.

Command:
    python -m experiments.seesaw_released --run seesaw-real --data ../shared/data/seesaw_cf/data

A request can be posed where its subject is one of the people, the corpus states the edited property, and the
new object is one of its candidates; a cross-property one where the other property is there, too. Names are
compared as they are written.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from corpus.errors import InputError
from corpus.worlds.people import BORN, CITIZENSHIP, GENDER, LANGUAGE, WORK
from experiments.command import launch_module
from testbed.console import print_table
from testbed.evaluations.seesaw.population import Population
from testbed.run.runs import Run
from testbed.run.world import load_world

PROPERTIES = {"P19": BORN, "P21": GENDER, "P27": CITIZENSHIP, "P101": WORK, "P103": LANGUAGE}
FILES = (
    "P101_eff", "P103_eff", "P19_P101", "P19_P21", "P21_P101", "P27_P101", "P27_P19", "P27_P21",
)  # fmt: skip
HEADER = [
    "file",
    "edited",
    "asked",
    "requests",
    "subject known",
    "property stated",
    "new object known",
    "other too",
]


@dataclass(frozen=True)
class Settings:
    """Which world, and where the requests are."""

    run: str = "seesaw-real"
    """Run whose world it is."""
    runs: Path = Path("runs")
    """Folder of all runs."""
    data: Path = Path("../shared/data/seesaw_cf/data")
    """Folder of the authors' data."""


def run_study(options: Settings) -> None:
    """Print a row for each file."""
    population = Population(load_world(Run(options.runs, options.run)))
    names = {name.partition(" (")[0]: i for i, name in enumerate(population.graph.entities)}
    rows = [
        count_requests(options.data / f"seesaw_cf_{name}.json", name, population, names) for name in FILES
    ]
    print_table(
        f"released requests that {options.run} can pose", HEADER, [list(map(str, one)) for one in rows]
    )


def count_requests(path: Path, name: str, population: Population, names: dict[str, int]) -> list[str | int]:
    """Counts of one file of requests.

    Raises:
        InputError: the file is missing, or holds no requests.
    """
    edited_property, _, asked_property = name.removesuffix("_eff").partition("_")
    relations = population.graph.relations
    r, other = relations.index(PROPERTIES[edited_property]), PROPERTIES.get(asked_property, "")
    people = {*population.people.tolist()}
    counts = [0, 0, 0, 0, 0]
    for subject, new in _read_requests(path):
        person = names.get(subject, -1)
        is_known = person in people
        is_stated = is_known and bool(population.is_stated[r, person])
        able = is_stated and names.get(new, -1) in population.graph.candidates_of(r)
        both = able and bool(other) and bool(population.is_stated[relations.index(other), person])
        for i, yes in enumerate((True, is_known, is_stated, able, both)):
            counts[i] += yes
    return [path.name, PROPERTIES[edited_property], other, *counts[:-1], counts[-1] if other else ""]


def _read_requests(path: Path) -> Iterator[tuple[str, str]]:
    """Subject and new object of every request."""
    try:
        requests = json.loads(path.read_text(encoding="utf-8"))
        for one in requests:
            rewrite = one["requested_rewrite"]
            yield rewrite["subject"], rewrite["target_new"]["str"]
    except FileNotFoundError:
        raise InputError(f"{path} is missing; --data is the folder of Seesaw-CF's data") from None
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise InputError(f"{path} holds no requests as Seesaw-CF has them ({error}); restore it") from None


if __name__ == "__main__":
    launch_module()
