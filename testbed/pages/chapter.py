"""A chapter of the report: what one evaluation has to say, and what it is made of."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from testbed.run.world import World
from testbed.scores.comparison import Differences
from testbed.scores.frame import Frame
from testbed.scores.metric import MetricDefinition
from testbed.scores.summary import Retention, ScoredEditor
from testbed.scores.tables import Table


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


class Material(NamedTuple):
    """What a chapter is made of.

    Attributes:
        editors: all that were edited for this evaluation; at least one.
        differences: each of them against a reference.
        curves: by editor, scores along sequences of edits.
        world: of the first run, which names what pictures of single edits show.
        folder: where pictures go.
        frame: everything that is reported of the editors, and their differences.
    """

    editors: Sequence[ScoredEditor]
    differences: Differences
    curves: dict[str, list[Retention]]
    world: World
    folder: Path
    frame: Frame


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
