"""documents and documents-request: fine-tuning on many documents that speak of the new fact."""

from dataclasses import dataclass

from lm.editors.entry import TENFOLD, Entry, require_positive
from lm.editors.lora import LoraConfig


@dataclass(frozen=True)
class DocumentsConfig(LoraConfig):
    """Low-rank adapters on every matrix, trained on documents that are written for the request."""

    rank: int = 4
    """Rank of each adapter."""
    at_once: int = 4
    """Documents of each step, written anew."""
    length: int = 4
    """Sentences of a document; one of them at least is the request's."""
    consequences: bool = True
    """Let documents also say what the model answers of the subject behind the request."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive({}, {"at_once": self.at_once, "length": self.length})


EDITORS = tuple(
    Entry(
        name=name,
        about=f"low-rank adapters, fitted to documents that state {what}",
        build="lm.editors.documents.method:Documents",
        config=DocumentsConfig(consequences=consequences),
        small=DocumentsConfig(consequences=consequences, learning_rate=1e-3),
        search={"learning_rate": TENFOLD},
    )
    for name, what, consequences in (
        ("documents", "the request and what the model then answers about its subject", True),
        ("documents-request", "the request (Slocum et al. 2025)", False),
    )
)
