"""A chapter of the report: its plan, which is data, what it is made of, and what it shows."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from testbed.engine.results import Results
from testbed.pages.belief_pictures import BeliefPanel
from testbed.run.world import World
from testbed.scores.comparison import Differences
from testbed.scores.frame import Frame
from testbed.scores.metric import MetricDefinition
from testbed.scores.summary import ScoredEditor
from testbed.scores.tables import Table
from testbed.scores.views import Column, View


class Picture(NamedTuple):
    """A picture of the chapter's folder.

    Attributes:
        file: a PNG or an SVG.
        says: what it shows, for whoever does not see it.
        message: what is to be seen in it, its title on the page.
    """

    file: str
    says: str
    message: str


class Section(NamedTuple):
    """A part of a chapter: pictures, tables that are open, and more that are folded."""

    key: str
    title: str
    text: str
    pictures: Sequence[Picture] = ()
    tables: Sequence[Table] = ()
    more_tables: Sequence[Table] = ()


@dataclass(frozen=True)
class Material:
    """What a chapter is made of.

    Attributes:
        editors: all that were edited for this evaluation; at least one.
        differences: each of them against a reference.
        world: of the first run, which names what pictures of single edits show.
        folder: where pictures go.
        frame: everything that is reported of the editors, and their differences.
        kinds: of the worlds, each once.
        memory: see `once`.
    """

    editors: Sequence[ScoredEditor]
    differences: Differences
    world: World
    folder: Path
    frame: Frame
    kinds: Sequence[str]
    memory: dict[Hashable, Any] = field(default_factory=dict)

    def once(self, make: "Callable[[Material], Made]") -> "Made":
        """What a function makes of this, made once for all sections."""
        if make not in self.memory:
            self.memory[make] = make(self)
        made: Made = self.memory[make]
        return made


Made = TypeVar("Made")


class Chapter(NamedTuple):
    """What one evaluation says on the page.

    Attributes:
        title: a question, or a name.
        text: what was asked, for people.
        findings: by editor, what came out, a sentence that begins with a verb.
        first_table: a few metrics of every editor, which answer the question at a glance.
        main_table: the first table of what came of the edits.
        panels: by editor, the picture of one edit; some editors may have none.
        details: by editor, tables of every metric.
        words: terms that tables use besides metrics, and what they mean.
        metrics: for the explanations below.
        opening: sections before the first table: what the model was before any edit.
        first_picture: of all editors, beside the first table.
        few: editors with few edits, which the first screen leaves out.
    """

    title: str
    text: str
    findings: dict[str, str]
    first_table: Table
    main_table: Table
    sections: Sequence[Section]
    panels: Mapping[str, Picture]
    details: dict[str, list[Table]]
    words: Mapping[str, str]
    metrics: Sequence[MetricDefinition]
    opening: Sequence[Section] = ()
    first_picture: Picture | None = None
    few: Sequence[str] = ()


class ShownEdit(NamedTuple):
    """One edit: its title, its questions, and what is to be seen."""

    title: str
    panels: Sequence[BeliefPanel]
    message: str


class Chart(NamedTuple):
    """A picture of the frame, as data.

    Attributes:
        kind: lines: a panel an editor, with lines over ticks. bins: a panel an editor, with its line, the
            agent's, and those of all others. bars: a group of bars for each editor, for no edit, and for the
            agent. panels: a panel an editor, with a bar for each tick.
        file, says: of the picture.
        lines: by name, the columns of the frame that its points show; all kinds but "lines" have one line.
        ticks: what the points are called.
        across, up: what the axes show; bars lie, so that `across` has their values.
        what: what its values are in the sentence above it; what their axis shows, if nothing is said.
    """

    kind: Literal["lines", "bins", "bars", "panels"]
    file: str
    says: str
    lines: Mapping[str, Sequence[str | Column]]
    ticks: Sequence[str]
    across: str
    up: str = ""
    what: str = ""


PictureSource = Chart | Callable[[Material], Picture | Sequence[Picture]]
TableSource = View | Callable[[Material], Table | Iterable[Table | None] | None]
"""A view of the frame, or a function for what a view cannot say: one table, several, or none."""


class SectionPlan(NamedTuple):
    """What a section shows; it is left out where no table and no picture has anything to show."""

    key: str
    title: str
    text: str | Callable[[Material], str]
    pictures: Sequence[PictureSource] = ()
    tables: Sequence[TableSource] = ()
    more_tables: Sequence[TableSource] = ()


class ChapterPlan(NamedTuple):
    """What a chapter shows, in order.

    Attributes:
        title, text: those of the evaluation's docstring, if nothing is said.
        finding: what came out for an editor, a sentence without its subject: a template of the estimates
            `after`, `before`, `no_edit` and `chance` by metric, or a function of frame and editor.
        sections: plans, and functions that make a section.
        opening: sections before the first table.
        words: terms that tables use besides metrics, and what they mean.
        edit: how the edit that is pictured is chosen among some cases, and what its picture shows.
        parts: of the cases, over which the tables of an editor are shown besides all.
        first_picture: draws the picture of all editors beside the first table.
        finish: what becomes of the chapter in the end.
    """

    title: str = ""
    text: str = ""
    finding: str | Callable[[Frame, str], str] = ""
    sections: "Sequence[SectionPlan | Callable[[Material], Section | None]]" = ()
    opening: Sequence[Callable[[Material], Section]] = ()
    words: Mapping[str, str] = {}
    edit: "tuple[CaseChooser, EditShower] | None" = None
    parts: Sequence[str] = ()
    first_picture: Callable[[Material], Picture] | None = None
    finish: Callable[[Material, Chapter], Chapter] = lambda _, chapter: chapter


CaseChooser = Callable[[Results, np.ndarray], int]
EditShower = Callable[[Results, World, int], ShownEdit]
