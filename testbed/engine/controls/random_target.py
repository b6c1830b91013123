"""random-target: an edit like any other, to an object that nobody asked for.

lora-down fitted to (s, r, o') in place of (s, r, o*), with o' uniform over all objects but o* and the truth.
"""

from typing import TYPE_CHECKING

from corpus.seeds import generator
from lm.editors.lora import LoraConfig
from lm.editors.lora.method import lora_down
from testbed.engine.methods import Belief, Method

if TYPE_CHECKING:
    from testbed.protocol import Case
    from testbed.run.world import World
    from testbed.settings import EditSettings


def random_target(config: LoraConfig, settings: "EditSettings", world: "World") -> Method:
    """What an edit does to a model whatever it is about."""

    def another_object(case: "Case") -> list[Belief]:
        s, r, o = case.requested_fact
        objects = world.graph.objects
        others = objects[(objects != o) & (objects != case.truth)]
        rng = generator(settings.seed, f"random target {s} {r} {o}")
        # A world of one or two objects has no other.
        return [Belief((s, r, int(rng.choice(others)) if len(others) else o), case.credence)]

    return Method(lora_down(config), another_object)
