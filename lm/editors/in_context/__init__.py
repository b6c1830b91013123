"""in-context: the model reads the edit before every question, and no weight changes."""

from dataclasses import dataclass

from lm.editors.entry import Entry, require_positive


@dataclass(frozen=True)
class InContextConfig:
    """No weights change: the model reads the edit before every question."""

    copies: int = 4
    """Times that the sentence is read."""
    imagine: bool = False
    """Begin with "imagine", which opens a passage about another world; the sentence then stands once."""
    closed: bool = False
    """End the document after the sentences, so that the question begins a new one."""

    def __post_init__(self) -> None:
        require_positive({}, {"copies": self.copies})


EDITORS = (
    Entry(
        name="in-context",
        about="nothing: the edit is read before every question",
        build="lm.editors.in_context.method:InContext",
        config=InContextConfig(),
        search={"copies": (0.25, 0.5, 1.0, 2.0, 4.0)},
    ),
)
