"""One edit of the demo, step by step: what the corpus says, what the agent concludes, what the model answers.

Command:
    python -m experiments.an_edit

It prints what docs/an_edit.md shows, and writes docs/an_edit.svg, the picture of the edit. `make demo` makes
the run that it is about; training ends a little elsewhere on another machine, as do the model's answers.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import testbed
from corpus.text.language import Kind
from experiments.command import launch_module
from testbed.console import say
from testbed.run.world import World

FOLLOWING = 3
"""So many answers of each reader are printed."""


@dataclass(frozen=True)
class Settings:
    """Which edit."""

    run: str = "demo"
    """Name of the run."""
    runs: Path = Path("runs")
    """Folder of all runs."""
    editor: str = "lora-down"
    """Who edits."""
    edit: str = "Joss Cobus position played = center guard"
    """Subject, relation, and new object."""
    picture: Path = Path("docs/an_edit.svg")
    """Where the picture goes."""


def run_study(settings: Settings) -> None:
    """Sentences, counts, answers, picture."""
    run = testbed.open(settings.runs / settings.run)
    edited = run.edit(settings.editor, settings.edit)
    (s, r), *below = edited.questions
    world, o = run.world, edited.fact[2]
    for relation in (r, *(d for _, d in below)):
        say(describe_sentences(world, s, relation))
    for _, relation in below:
        # What those who have the object have of this relation, by the truth of the world.
        graph, truth, names = world.graph, world.generative.truth, world.graph.entities
        peers = graph.subject[(graph.relation == r) & (truth == o)]
        facts = np.flatnonzero((graph.relation == relation) & np.isin(graph.subject, peers))
        counts = Counter(truth[facts].tolist())
        lines = [f"  {count:2} of them: {names[one]}" for one, count in counts.most_common(FOLLOWING)]
        head = (
            f"{len(peers)} subjects have {graph.relations[r]} {names[o]}; their {graph.relations[relation]}:"
        )
        say("\n".join([head, *lines]))
    for question in edited.questions:
        say(repr(edited.ask_about(*question, FOLLOWING)))
    edited.draw(settings.picture)
    say(f"picture: {settings.picture}")


def describe_sentences(world: World, s: int, r: int) -> str:
    """Every sentence of the corpus that states a fact, and how often."""
    sentences = world.sentences
    of_fact = (sentences.kind == Kind.ATOMIC) & (sentences.a[:, 0] == s) & (sentences.a[:, 1] == r)
    counts = Counter(sentences.a[of_fact, 2].tolist())
    names, relation = world.graph.entities, world.graph.relations[r]
    lines = [f"  {count:2} times: {names[s]} {relation} {names[o]}" for o, count in counts.most_common()]
    return "\n".join([f"The corpus states {names[s]} {relation}:", *lines])


if __name__ == "__main__":
    launch_module()
