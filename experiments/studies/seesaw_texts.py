"""Seesaw-CF: what do edited models write about the edited person, by editor and by edited property?

Command:
    python -m experiments.seesaw_texts

Halevy et al. 2024 had people code 252 pairs of texts by MEMIT, and GPT-3.5 those by MEMIT and fine-tuning
(Tables 6 and 19). Here every text is read against the world. Worlds are two kinds of those of
`experiments.seesaw`: work depends on a person's group, or on gender, since only of what depends on the edited
property something can be a stereotype.
"""

from collections.abc import Iterator

from experiments.command import launch_module
from experiments.measures.people import BY_GENDER, FACTORIAL, corpus_of_people, training_of_people
from experiments.study import Findings, Study, WorldOptions
from testbed.evaluations.seesaw import texts
from testbed.run.world import load_world
from testbed.scores.tables import Table

KINDS = {"work by group": FACTORIAL[0], "work by gender": BY_GENDER}


def make_tables(findings: Findings) -> Iterator[Table]:
    """Flaws of texts by kind of world, editor and edited property, and how a judge by keywords errs."""
    for name, kind in KINDS.items():
        worlds = [load_world(run) for run in findings.runs(world_kind=kind)]
        coded = [
            (one, texts.code_all_texts(one.edits.results, worlds))
            for one in findings.editors(world_kind=kind)
        ]
        for make in (texts.flaw_table, texts.judge_table, texts.injection_table, texts.legibility_table):
            table = make(coded)
            yield table._replace(title=f"{name}: {table.title}")


STUDY = Study(
    options=WorldOptions(worlds=3, editors=("full", "ft-constrained", "memit"), edits=60),
    cells=lambda options: [
        {"world_kind": kind, "people": 144, "steps": 300, "seed": seed}
        for seed in range(options.worlds)
        for kind in KINDS.values()
    ],
    run="seesaw-{world_kind}-{seed}",
    preset="seesaw",
    corpus=corpus_of_people,
    train=training_of_people,
    # The paper has 5 texts after every opening, of 100 tokens.
    edit=lambda _: {
        "seesaw.others": 1, "seesaw.phrasings": 1,
        "seesaw.samples": 2, "seesaw.longest": 60,
    },
    tables=make_tables,
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
