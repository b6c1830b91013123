"""Settings of what a run holds, and settings as plain data; importing this loads no NumPy and no JAX."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal

AgentName = Literal["paper", "exact"]
RequestName = Literal["evidence", "correction", "do"]


@dataclass(frozen=True)
class PaperAgentConfig:
    """The paper's agent (Hase §6.2)."""

    prior_mass: float = 1.0
    """Total mass of its Dirichlet prior."""
    evidence_multiplicity: float = 5.0
    """How often it counts each sentence; 5 as published, 1 is the honest value."""

    def __post_init__(self) -> None:
        if not (0 < self.prior_mass < math.inf and 0 < self.evidence_multiplicity < math.inf):
            raise ValueError("prior-mass and evidence-multiplicity must be positive numbers")


def plain(settings: Any) -> Any:
    """Settings as JSON holds them, without the fields that change no result.

    Such a field is marked where it stands: `field(..., metadata={"result": False})`.
    """
    return json.loads(json.dumps(_plain(settings)))


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        kept = [f.name for f in fields(value) if f.metadata.get("result", True)]
        return {name: _plain(getattr(value, name)) for name in kept}
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, Path) else value
