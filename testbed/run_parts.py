"""The parts of a run, each loaded when it is first needed."""

from dataclasses import replace
from functools import cached_property
from typing import Literal

from bayes.interface import Agent
from corpus.worlds.members import ANSWERS, find_members
from lm.language_model import LanguageModel
from testbed.advice import preset_of_run
from testbed.cells import Shown
from testbed.engine.run_answers import Answerer, RunAnswers
from testbed.grid import Grid
from testbed.presets import EDIT
from testbed.run.agents import agent_named, describe_standard
from testbed.run.model import load_model
from testbed.run.runs import Run
from testbed.run.runtime import prepare_jax
from testbed.run.settings import AgentName
from testbed.run.world import World, load_world
from testbed.settings import EditSettings


class RunParts:
    """One run: its world, its agent and its model, ready to be asked.

    Args:
        run: where it lies.
        agent: who answers beside the model.
        checkpoint: which model: as training ended, or where it was most accurate.
    """

    def __init__(
        self, run: Run, agent: AgentName = "paper", checkpoint: Literal["last", "best"] = "last"
    ) -> None:
        self.run, self.agent_name, self.checkpoint = run, agent, checkpoint

    @cached_property
    def world(self) -> World:
        """Graph, truth, sentences and tokenizer."""
        return load_world(self.run)

    @cached_property
    def model(self) -> LanguageModel:
        """The trained model."""
        prepare_jax()
        return load_model(self.run, self.world, self.checkpoint)[0]

    @cached_property
    def agent(self) -> Agent:
        """The rational agent after reading the corpus."""
        return agent_named(self.agent_name, self.world)

    @cached_property
    def answers(self) -> RunAnswers:
        """Model and agent, ready to be asked."""
        return RunAnswers(self.world, self.model, self.agent)

    @cached_property
    def standard(self) -> str:
        """Who the agent is, and how exact, in words."""
        return describe_standard(self.agent_name, self.agent.exactness._asdict())

    @cached_property
    def settings(self) -> EditSettings:
        """How `testbed.edit` edits runs of this preset."""
        preset = EDIT[preset_of_run(self.run)]
        return replace(preset, run=self.run.name, runs=self.run.root, agent=self.agent_name)

    def ask(self, question: str, top: int = 5) -> Grid:
        """The most probable answers of model and agent.

        Args:
            question: subject and relation, such as "Ada Marlow educated at"; of a relation that is a set, how
                probable each of its objects is.

        Raises:
            InputError: an unknown name or relation.
        """
        columns = {"model": self.model_answers, "agent": self.answers.agent_answers(None)}
        return answer_question(self.world, question, columns, top, f"the agent is {self.standard}")

    @cached_property
    def model_answers(self) -> Answerer:
        """The model's answers to any question."""
        return self.answers.model_answers(None)


def parse_question(world: World, question: str) -> tuple[int, dict[str, int]]:
    """Subject, and relation under ""; of a set as in "Ann speaks" the relation of each object by its name.

    Raises:
        InputError: an unknown name or relation.
    """
    language, (who, members) = world.tokenizer.language, find_members(world.graph, question)
    if members:
        return language.entity(who), members
    s, r = language.parse_prompt(question)
    return s, {"": r}


def answer_question(
    world: World, question: str, columns: dict[str, Answerer], top: int, note: str = ""
) -> Grid:
    """Who answers what to a question as it is typed; of a set, how sure each is of its likeliest objects.

    Raises:
        InputError: an unknown name or relation.
    """
    s, members = parse_question(world, question)
    if "" in members:
        return show_answers(world, s, members[""], columns, top, note)
    yes, everything, rows = world.graph.entities.index(ANSWERS[0]), len(world.graph.objects), []
    for answer in columns.values():
        sure = {name: dict(answer(s, r, everything)).get(yes, 0.0) for name, r in members.items()}
        rows.append([_show_answer(name, sure[name]) for name in sorted(sure, key=lambda n: -sure[n])])
    facts = {name: int(world.graph.find(s, r)) for name, r in members.items()}
    truth = [name for name, fact in facts.items() if fact >= 0 and world.generative.truth[fact] == yes]
    title = f"{question}: each of {len(members)}   (the world says: {', '.join(truth) or 'none'})"
    return Grid(title, list(columns), [*map(list, zip(*rows, strict=True))][:top], numbers=False, note=note)


def show_answers(
    world: World, s: int, r: int, columns: dict[str, Answerer], top: int, note: str = ""
) -> Grid:
    """Who answers what, side by side, the most probable first."""
    names, relations = world.graph.entities, world.graph.relations
    answers = [answer(s, r, top) for answer in columns.values()]
    rows = [
        [_show_answer(names[a[i][0]], a[i][1]) if i < len(a) else "" for a in answers] for i in range(top)
    ]
    fact = int(world.graph.find(s, r))
    truth = names[world.generative.truth[fact]] if fact >= 0 else "nothing"
    title = f"{names[s]} {relations[r]} ...   (the world says: {truth})"
    return Grid(title, list(columns), rows, numbers=False, note=note)


def _show_answer(name: str, probability: float) -> Shown:
    return Shown(f"{probability:.2f} {name}", {"object": name, "probability": probability})
