"""oracle: an editor that is told the gold, the bound of what its capacity can hold.

lora-down fitted to (s, r, o*) and to (s_i, r_i, argmax_o p(o | s_i, r_i)) for every probe i of the case; p is
the rational agent's posterior after the edit.
"""

from typing import TYPE_CHECKING

from lm.editors.lora import LoraConfig
from lm.editors.lora.method import lora_down
from testbed.engine.methods import Fact, Method, the_request
from testbed.evaluations.hase.cases import REQUEST, Case

if TYPE_CHECKING:
    from testbed.presets import EditSettings
    from testbed.run.world import World


def oracle(config: LoraConfig, settings: "EditSettings", world: "World") -> Method:
    """lora-down, told what the rational agent would answer."""
    return Method(lora_down(config), implied)


def implied(case: Case) -> list[Fact]:
    """What the rational agent would answer to every probe after the edit, the request first.

    A probe that a case lacks is filled by the request.
    """
    asked = [c for i, c in enumerate(case.cells) if i != REQUEST]
    answers = [(c.subject, c.relation, int(c.answer[1])) if c else the_request(case)[0] for c in asked]
    return [*the_request(case), *answers]
