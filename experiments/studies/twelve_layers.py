"""The paper's architecture on two cores: does what two layers show hold at twelve?

Command:
    python -m experiments.twelve_layers

The demo's world, its sentences in documents of three, is learned by two models: the demo's, of two layers,
and the architecture of Hase et al. 2024, of twelve layers 512 wide (83M parameters with their vocabulary of
32,000, 51M with this one), in bfloat16 by Muon. Both are edited by the same editors at the same requests,
which contradict the truth about causes and are drawn so that every support has as many; hyper-parameters are
the presets', `tiny`'s for two layers and `paper-cpu`'s for twelve.

Tables: every editor at both depths; what follows by the number of subjects that share the new object, which
is the support law; and by pair what differs at one depth only: rome and memit, early and late layers.

Training takes an hour of one core; an edit of all weights 14 s, so that 60 edits by every editor
take two hours more (`--slow` names those that make fewer).
"""

from dataclasses import dataclass

from experiments.command import launch_module
from experiments.measures.pairs import pair_table
from experiments.study import Changes, Study, StudyOptions, Values
from lm.config import ModelConfig
from testbed.evaluations.hase.metrics import DAMAGE, FOLLOWS, SKILL, SPILL, SUCCESS
from testbed.run.strata import SUPPORT_BINS
from testbed.scores.views import Column, View

EDITORS = (
    "lora-down", "lora-all", "embeddings", "full", "full-early", "full-late", "ft-constrained", "rome",
    "memit", "in-context", "grace", "count-based", "self-bayes", "oracle", "none",
)  # fmt: skip
SHOWN = (SUCCESS, FOLLOWS, DAMAGE, SPILL, SKILL)
FEW = 20
PAIRS = (("rome", "memit"), ("full-early", "full-late"))
BY_SUPPORT = [Column(FOLLOWS, name, {"subset": f"support {name}"}) for name in SUPPORT_BINS]


@dataclass(frozen=True)
class Options(StudyOptions):
    """How much is measured."""

    slow: tuple[str, ...] = ("self-bayes",)
    """Editors that make FEW edits."""
    steps: int = 200
    """Training steps of twelve layers, of 12 rows of 160 tokens."""
    seed: int = 0
    """Of world, models and requests."""

    @property
    def cells(self) -> list[Values]:
        """Both models."""
        return [{"layers": layers, "seed": self.seed} for layers in (2, 12)]


def training_of(cell: Values) -> Changes:
    """The demo's, or so many steps of twelve layers."""
    deep = {
        "model": ModelConfig(precision="bfloat16"), "train.steps": cell["steps"], "train.rows": 12,
        "train.learning-rate": 0.01, "train.adam-learning-rate": 0.003, "train.warmup": 5,
        "train.evaluate-every": 10, "train.checkpoint-every": 10,
    }  # fmt: skip
    return {} if cell["layers"] == 2 else deep


STUDY = Study(
    options=Options(editors=EDITORS, edits=60),
    run="layers-{layers}",
    preset=lambda cell: ("tiny", "tiny", "tiny" if cell["layers"] == 2 else "paper-cpu"),
    corpus=lambda _: {"documents.length": 3},
    train=training_of,
    edit=lambda cell: {
        "cases.count": FEW if cell["editor"] in cell["slow"] else cell["edits"],
        "hase.edits": "upstream", "hase.reinforce": 0.0,
    },
    subsets=[f"support {name}" for name in SUPPORT_BINS],
    views=[
        View("twelve", "Two layers and twelve",
             [Column(metric, f"{metric}, {n} layers", {"layers": n}) for metric in SHOWN for n in (2, 12)],
             note="± is half of a 95% interval, in one world."),
        View("support", f"{FOLLOWS}, by support of the new object", BY_SUPPORT,
             rows={"reader": "editor", "layers": "layers"},
             note="The support law of Hase et al. would have rows rise, as the rational agent's do."),
    ],
    tables=lambda findings: [pair_table(findings, "layers", PAIRS, SHOWN)],
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
