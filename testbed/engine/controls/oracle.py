"""oracle: an editor that is told the gold, the bound of what its capacity can hold.

lora-down fitted to (s, r, o*) and to (s_i, r_i, argmax_o p(o | s_i, r_i)) for every choice i of a case,
where p is the rational agent's posterior after the edit.
"""

from typing import TYPE_CHECKING

from lm.editors.lora import LoraConfig
from lm.editors.lora.method import lora_down
from testbed.engine.methods import Fact, Method, SweepSettings

if TYPE_CHECKING:
    from testbed.protocol import Case
    from testbed.run.world import World


def oracle(config: LoraConfig, settings: SweepSettings, world: "World") -> Method:
    """lora-down, told what the rational agent would answer."""
    return Method(lora_down(config), implied)


def implied(case: "Case") -> list[Fact]:
    """What the rational agent would answer to every choice after the edit, the request first."""
    asked = [c for c in case.choices if (c.subject, c.relation) != case.fact[:2]]
    return [case.fact, *((c.subject, c.relation, int(c.answer[1])) for c in asked)]
