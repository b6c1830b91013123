"""A rater of passages that learns from labels as noisy as people's: which editors does it put in wrong order?

Command:
    python -m experiments.rater

Rosati et al. 2024 judge passages by a classifier that learned from people's labels: does a passage support a
claim, contradict it, or neither (726 labels; two raters agree with Krippendorff's alpha .65; the classifier
is right in 85%)? Here the right label is known. Labels of half of the edits are changed at random until two
raters would agree as people did; a classifier learns from them, reading words alone; then it judges the
passages of the other half, and editors are put in order by it and by the exact judge. Beside it stand the
noisy labels themselves, and a rule that knows one thing: a passage supports a claim if one of its sentences
has all the words of the claim. The classifier's penalty is chosen on a world of its own, of seed 1000.
"""

from experiments.command import launch_module
from experiments.measures.noisy_rater import (
    DEVELOPMENT_SEED,
    rater_tables,
)
from experiments.study import Study, WorldOptions

STUDY = Study(
    options=WorldOptions(
        worlds=3, edits=30,
        editors=("none", "full", "ft-constrained", "rome", "memit", "lora-down", "in-context"),
    ),
    cells=lambda options: [
        {"world": "report" if seed else "development", "seed": seed or DEVELOPMENT_SEED}
        for seed in range(1 + options.worlds)
    ],
    run="rater-{seed}",
    preset="leme",
    tables=rater_tables,
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
