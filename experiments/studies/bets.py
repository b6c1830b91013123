"""Is money surely made of an edited model? Bets against the order of edits, undoing and conditioning.

Command:
    python -m experiments.bets

In ten of the demo's worlds every editor, as the preset has it, makes the edits of
`experiments.measures.sure_gains`: two requests in both orders, one and then the truth or its retraction, one
that is believed less than before, one that is half believed and then settled, and all that are likely. What
is surely won for each unit at stake, on all questions and on the consequence alone, stands beside whether the
edits do anything at all, and beside the exact agent, who conditions. Takes an hour of one core where the
models are there.
"""

from experiments.command import launch_module
from experiments.measures.sure_gains import CONSEQUENCE, betting_stages, gains_of, gains_tables
from experiments.study import Study, WorldOptions

EDITORS = ("lora-down", "full-early", "embeddings", "rome", "keyed-request", "keyed")

STUDY = Study(
    options=WorldOptions(worlds=10, edits=20, editors=EDITORS),
    run="demo-worlds-{seed}",
    before=betting_stages,
    editors=lambda _: (),
    tables=gains_tables,
    figures=lambda findings: {"gains": gains_of(findings), "consequence": gains_of(findings, CONSEQUENCE)},
)

if __name__ == "__main__":
    launch_module()
