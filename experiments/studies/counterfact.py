"""CounterFact and zsRE as their own world: 100 of their requests by each editor, over their own facts.

Command:
    python -m experiments.counterfact --path FOLDER

FOLDER has the flat files counterfact-*.json and zsre_*.json. Their 3,919 records are a table: a relation is a
prompt without its subject, or a question. Requests are those of either set whose new object the same prompt
has of another subject, since of any other the model has read nothing, and whose prompt does not begin with
another prompt, since it is named apart then; at random, the same for every editor.
Takes half an hour of one core.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from corpus.errors import InputError
from corpus.seeds import generator
from experiments.command import launch_module
from experiments.study import Changes, Findings, Stage, Study, Values, WorldOptions
from testbed.evaluations.hase.metrics import DAMAGE, KEPT, SUCCESS, name_at
from testbed.evaluations.hase.places import NEIGHBOURS
from testbed.scores.views import View

FIELDS = {
    "CounterFact": ("counterfact-*.json", "prompt", "ground_truth", "target_new"),
    "zsRE": ("zsre_*.json", "src", "answers", "alt"),
}
"""By set its files, and what they call prompt, true and new object."""
TABLE = "counterfact.tsv"


@dataclass(frozen=True)
class Options(WorldOptions):
    """Where the sets are."""

    path: str = ""
    """Folder with their files; without it the built-in world, and requests that are drawn."""

    @property
    def cells(self) -> list[Values]:
        """Requests of each set, in one world."""
        return [{"source": source, "seed": seed} for seed in range(self.worlds) for source in FIELDS]


def read_requests(folder: str, source: str) -> Iterator[list[str]]:
    """Subject, relation, true and new object of each record of a set."""
    files, *fields = FIELDS[source]
    for path in sorted(Path(folder).expanduser().glob(files)):
        for record in json.loads(path.read_text(encoding="utf-8")):
            subject, (prompt, *objects) = record["subject"], (record[name] for name in fields)
            first = [one if isinstance(one, str) else one[0] for one in objects]
            texts = (subject, prompt.replace(subject, ""), *first)
            yield [" ".join(text.replace('"', "'").split()) for text in texts]


def draw_requests(cell: Values) -> Changes:
    """Requests of a set, as they are typed; contradicting ones of the built-in world without a folder."""
    if not cell["path"]:
        return {"hase.reinforce": 0.0}
    records = {source: [*read_requests(cell["path"], source)] for source in FIELDS}
    stated = {(relation, true) for _, relation, true, _ in records[cell["source"]]}
    relations = {relation for some in records.values() for _, relation, *_ in some}
    clear = {r for r in relations if not any(r.startswith(f"{q} ") for q in relations)}
    able = [
        f"{s} {r} = {new}"
        for s, r, true, new in records[cell["source"]]
        if (r, new) in stated and new != true and r in clear
    ]
    order = generator(cell["seed"], cell["source"]).permutation(len(able))[: cell["edits"]]
    return {"hase.requests": tuple(able[i] for i in order)}


def write_table(findings: Findings) -> Iterator[Stage]:
    """All facts of both sets as a file of three columns."""
    table, folder = findings.options.runs / TABLE, findings.options.path

    def write() -> None:
        facts = [one[:3] for source in FIELDS for one in read_requests(folder, source)]
        if not facts:
            raise InputError(f"{folder} has no facts; --path has counterfact-*.json or zsre_*.json")
        table.parent.mkdir(parents=True, exist_ok=True)
        table.write_text("".join("\t".join(fact) + "\n" for fact in facts), encoding="utf-8")

    if folder:
        yield f"table {table}", write


STUDY = Study(
    options=Options(
        edits=100,
        editors=("none", "in-context", "ft-constrained", "rome", "memit", "lora-down", "keyed-request"),
    ),
    run="counterfact-{seed}",
    preset="laptop",
    corpus=lambda cell: (
        {"world.path": str(cell["runs"] / TABLE), "world.min_relations": 1, "world.subjects": 5000}
        if cell["path"]
        else {}
    ),
    train=lambda _: {"until": 0.9, "train.atomic_steps": 900},
    edit=draw_requests,
    before=write_table,
    views=[
        View("edits", "Requests of the sets", (SUCCESS, KEPT, name_at("right", NEIGHBOURS), DAMAGE),
             rows={"source": "requests", "reader": "editor"})
    ],
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
