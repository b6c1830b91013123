"""A run after one edit: the same questions, asked of model and agent before it and after it."""

import html
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bayes.interface import Agent, tell_agent
from bayes.request import EditRequest
from corpus.errors import InputError
from lm.delta import Delta
from lm.language_model import LanguageModel
from testbed.engine.methods import Method
from testbed.engine.run_answers import Answerer
from testbed.grid import Drawing, Grid
from testbed.pages.belief_pictures import CONSEQUENCE, EDITED_FACT, BeliefPanel, draw_beliefs, find_tallest
from testbed.run.pretrained import export_to_readers
from testbed.run.settings import Learned, RequestName
from testbed.run_parts import RunParts, answer_question, show_answers


class EditedRun:
    """A view of a run: its model under the edit's delta, its agent after the request.

    Args:
        original: the run, which stays as it is.
        editor: the editor's name; method: what makes the edit.
        text: the edit as it was typed; said: what it says.
        credence: how sure one is of it; request: what it is to the agent.
        seed: of the editor's randomness.
        learned: what the editor learns of it.
    """

    def __init__(
        self,
        original: RunParts,
        editor: str,
        method: Method,
        text: str,
        said: EditRequest,
        credence: float,
        request: RequestName,
        seed: int,
        learned: Learned = "doubt",
    ) -> None:
        self.original, self.editor, self.text, self.fact = original, editor, text, said[:3]
        self._said, answers = said, original.answers
        case = answers.case_of_edit(said, credence, request, self.questions)
        self.delta: Delta = answers.delta_of_edit(method, original.run, case, seed, learned)
        self._request = case.request
        self._credence, self._kind = credence, request

    @cached_property
    def questions(self) -> list[tuple[int, int]]:
        """The edited facts, and what depends on them, as subjects and relations."""
        graph, questions = self.original.world.graph, [part[:2] for part in self._said.parts]
        for s, r in tuple(questions):
            dependents = graph.dependents.get(int(graph.find(s, r)), [])
            questions += [(s, int(graph.relation[fact])) for fact in dependents]
        return [*dict.fromkeys(questions)]

    @property
    def model(self) -> LanguageModel:
        """The edited model."""
        return self.original.model.with_delta(self.delta)

    @property
    def agent(self) -> Agent:
        """The agent after the request."""
        return tell_agent(self.original.agent, self._request)

    @cached_property
    def columns(self) -> dict[str, Answerer]:
        """Who is asked."""
        answers = self.original.answers
        return {
            "model": self.original.model_answers,
            "agent": answers.agent_answers(self._said),
            "edited model": answers.model_answers(self.delta),
            "edited agent": answers.agent_answers(self._said, self._credence, self._kind),
        }

    def ask(self, question: str = "", top: int = 5) -> Grid:
        """The most probable answers before the edit and after it; without a question, about the edited fact.

        Raises:
            InputError: an unknown name or relation.
        """
        if not question:
            return self.ask_about(*self.questions[0], top)
        return answer_question(self.original.world, question, self.columns, top, self.note)

    def ask_about(self, subject: int, relation: int, top: int = 5) -> Grid:
        """As `ask`, of a subject and a relation."""
        return show_answers(self.original.world, subject, relation, self.columns, top, self.note)

    @property
    def note(self) -> str:
        """What was edited, and by what standard, in words."""
        return f"edit by {self.editor}: {self.text}; the agent is {self.original.standard}"

    def export(self, folder: str | Path) -> Path:
        """Write the edited model as a folder that `transformers` opens, the edit merged into its weights.

        Raises:
            InputError: the folder is there already, or the edit is none of weights, such as a codebook.
        """
        folder = Path(folder)
        if folder.exists():
            raise InputError(f"{folder} is there already; choose another, or move it away")
        export_to_readers(self.model, self.original.world.tokenizer, folder)
        return folder

    def plot(self) -> Drawing:
        """The picture of the edit, as an object that shows itself in a notebook."""
        with TemporaryDirectory() as folder:
            path = Path(folder) / "edit.svg"
            self.draw(path)
            return Drawing(self.text, path.read_text(encoding="utf-8"))

    def draw(self, path: Path) -> None:
        """The picture of the edit, as reports have it: the edited fact and what depends on it, as SVG."""
        graph, panels = self.original.world.graph, []
        everything = len(graph.objects)
        for i, (s, r) in enumerate(self.questions[:2]):
            dense = {}
            for name, answer in self.columns.items():
                dense[name] = np.zeros(len(graph.entities))
                for o, p in answer(s, r, everything):
                    dense[name][o] = p
            lm, agent = (np.stack([dense[who], dense[f"edited {who}"]]) for who in ("model", "agent"))
            shown = find_tallest(np.concatenate([lm, agent]).max(axis=0))
            label = (CONSEQUENCE if i else EDITED_FACT) + graph.relations[r]
            panels.append(
                BeliefPanel(label, [graph.entities[o] for o in shown], lm[:, shown], agent[:, shown])
            )
        draw_beliefs(f"Edit: {self.text}", panels, path)

    def __repr__(self) -> str:
        title = f"{self.original.run.folder} after an edit by {self.editor}: {self.text}"
        answers = [repr(replace(self.ask_about(*question, 3), note="")) for question in self.questions]
        return "\n\n".join([title, *answers])

    def _repr_html_(self) -> str:
        words = html.escape(f"by {self.editor}; {self.original.run.folder} itself is unchanged")
        return f"{self.plot()._repr_html_()}<p>{words}</p>"
