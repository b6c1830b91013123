"""embeddings: the embeddings of the request's own tokens (Hase et al. 2024)."""

from dataclasses import dataclass

from lm.editors.entry import Entry, require_positive


@dataclass(frozen=True)
class EmbeddingsConfig:
    """Training of the embeddings of the request's own tokens."""

    learning_rate: float = 1e-3
    """Learning rate of AdamW, constant."""
    steps: int = 40
    """Gradient steps."""

    def __post_init__(self) -> None:
        require_positive({"learning_rate": self.learning_rate}, {"steps": self.steps})


EDITORS = (
    Entry(
        name="embeddings",
        about="the embeddings of the request's own tokens",
        build="lm.editors.embeddings.method:Embeddings",
        config=EmbeddingsConfig(),
        small=EmbeddingsConfig(learning_rate=1e-2),
        search={"learning_rate": (1.0, 3.0, 10.0, 30.0, 100.0)},
    ),
)
