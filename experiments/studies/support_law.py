"""The support law: does a consequence follow an edit, by how many subjects share the new object?

Command:
    python -m experiments.support_law

A world whose upstream objects have Zipf popularity (1,320 subjects, 300 objects of each upstream
relation), three seeds. Editors are tuned in a fourth world, of another seed; then every model is
edited by all of them, once with the `stratified` sampler (as many requests for every support) and once
with the `published` one. All requests contradict the truth. On 2 cores it takes less than an hour.
"""

from experiments.command import launch_module
from experiments.study import Study, Tuning, WorldOptions
from testbed.evaluations.hase.metrics import FOLLOWS, METRICS
from testbed.evaluations.hase.support import BY_SUPPORT
from testbed.run.strata import SUPPORT_BINS
from testbed.scores.metric import metrics_shown_in
from testbed.scores.views import View

SAMPLERS = ("stratified", "published")
DEVELOPMENT = {"world": "development", "seed": 1000, "sampler": "stratified"}
"""The world that hyper-parameters are chosen in."""

STUDY = Study(
    options=WorldOptions(
        worlds=3, edits=400,
        editors=("lora-down", "full-early", "full-late", "rome", "in-context", "embeddings"),
    ),
    cells=lambda options: [
        {"world": seed, "sampler": sampler, "seed": seed}
        for seed in range(options.worlds)
        for sampler in SAMPLERS
    ],
    run="support-law-{world}",
    preset="laptop",
    pool=("seed", "world"),
    corpus=lambda _: {
        "world.subjects": 1320, "world.builtin.upstream-objects": 300, "world.builtin.downstream-objects": 60,
    },
    train=lambda _: {"train.steps": 1200},
    edit=lambda cell: {"hase.reinforce": 0.0, "hase.sampler": cell["sampler"]},
    tuning=lambda options: Tuning(DEVELOPMENT, 120, options.editors),
    subsets=[f"support {name}" for name in SUPPORT_BINS],
    views=[
        *(View(f"support-{one}", f"{FOLLOWS}, by support: {one}", BY_SUPPORT[FOLLOWS], where={"sampler": one})
          for one in SAMPLERS),
        View("headlines", "All requests", metrics_shown_in(METRICS, "headline"),
             rows={"sampler": "sampler", "reader": "editor"}),
    ],
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
