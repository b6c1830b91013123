"""Does a context distilled at a name, labels and all, mend the logic that `keyed` leaves?

Command:
    python -m experiments.labels

Worlds of 1,055 subjects whose corpora also have joint documents (.15 of all), imagine documents (.10) and
revise documents (.20), about half of the subjects and objects; labels weigh 8 in training. Half of the edits
repeat the truth. In context: behind "imagine s r o*.". At the name: what the model says of the subject's
facts behind it, fitted to a vector at the name. With labels: what it says of the request's sentences with
true, not, and, or, too. Of the first world there is also a model whose imagine documents label their premise,
alone and joined with other statements (four sentences each); it is edited by contexts alone. Seven minutes of
one core a model.
"""

from collections.abc import Iterator

from experiments.command import launch_module
from experiments.study import Changes, Findings, Study, Values, WorldOptions
from testbed.evaluations.hase import CONTRADICTS, INDEPENDENT
from testbed.evaluations.hase import metrics as m
from testbed.evaluations.held_out import OBJECT_HELD_OUT, SEEN, SUBJECT_HELD_OUT
from testbed.scores.tables import Cell, Table
from testbed.scores.views import View

FIRST = 400
PLAIN, LABELLED = "plain", "labelled"
TAUGHT: Changes = {"documents.joint": 0.15, "documents.imagine": 0.10, "documents.revise": 0.20}
DOCUMENTS: dict[str, Changes] = {PLAIN: TAUGHT, LABELLED: TAUGHT | {"documents.imagined-labels": 4}}
NAMED: Changes = {
    "context-distillation.fit.storage": "keyed", "context-distillation.fit.learning-rate": 0.06,
    "context-distillation.fit.cosine": True, "context-distillation.fit.steps": 20,
    "context-distillation.anchor": 0.0,
}  # fmt: skip
VARIANTS: dict[str, tuple[str, Changes]] = {
    "in context": ("in-context", {"in-context.imagine": True}),
    "context at the name": ("context-distillation", NAMED),
    "with labels": ("context-distillation", NAMED | {"context-distillation.labels": 1.0}),
    "keyed, logic": ("keyed", {"keyed.logic": True}),
}
LAWS = ("TF", "not", "and", "or", "commute", "B or A")
WHO = ("before", "editor", "reference")
REPEATS = "repeats the truth"
ROWS = {"documents": "imagine documents", "reader": "editor"}


def list_cells(options: WorldOptions) -> list[Values]:
    """Every model: its documents and its world; the one with labels stands second."""
    plain: list[Values] = [{"documents": PLAIN, "seed": FIRST + i} for i in range(options.worlds)]
    return [plain[0], {"documents": LABELLED, "seed": FIRST}, *plain[1:]]


def tables_of(findings: Findings) -> Iterator[Table]:
    """What follows by support and by what documents imagined."""
    for documents in dict.fromkeys(cell["documents"] for cell in findings.cells):
        rows: list[list[Cell]] = []
        for one in findings.editors(documents=documents):
            cases = one.edits.results.cases
            shared, single = cases["support_new"] >= 2, cases["support_new"] == 1
            subject, obj = cases["seen_subject"].astype(bool), cases["seen_object"].astype(bool)
            parts = (
                shared, single, shared & subject & obj, shared & ~subject, shared & ~obj, single & ~obj,
            )  # fmt: skip
            metric = one.values[one.name][m.FOLLOWS]
            rows.append([one.name, *(one.estimate(metric, among) for among in parts)])
        due = metric.denominator > 0
        rows.append(["consequences due", *(int((due & among).sum()) for among in parts)])
        head = [
            "editor", "support 2 or more", "support 1", "2 or more, seen", "2 or more, subject held out",
            "2 or more, object held out", "support 1, object held out",
        ]  # fmt: skip
        yield Table(f"follows-{documents}", f"Follows, imagine documents {documents}", head, rows)


STUDY = Study(
    options=WorldOptions(
        worlds=10, edits=48,
        editors=("none", "in context", "context at the name", "with labels", "keyed-request", "keyed"),
    ),
    cells=list_cells,
    editors=lambda values: values["editors"][: 4 if values["documents"] == LABELLED else None],
    run="labels-{documents}-{seed}",
    preset="laptop",
    corpus=lambda cell: DOCUMENTS[cell["documents"]],
    train=lambda _: {
        "train.steps": 450, "train.label-weight": 8.0, "train.evaluate-every": 150,
        "train.checkpoint-every": 450,
    },
    edit=lambda _: {"batch-edits": 24},
    variants=VARIANTS,
    quick=True,
    subsets=(CONTRADICTS, REPEATS, SEEN, SUBJECT_HELD_OUT, OBJECT_HELD_OUT),
    views=[
        View("edits", "Requests that contradict the truth",
             (m.SUCCESS, m.FOLLOWS, m.STAYS, m.name_at("right", INDEPENDENT), m.KEPT, m.DAMAGE,
              m.SKILL_RECALIBRATED),
             rows=ROWS, who=WHO, where={"subset": CONTRADICTS}),
        View("logic", "Logic after requests that contradict the truth",
             (*map(m.law_name, LAWS), m.DUTCH_BOOK, m.SURE_LOSS, m.TRUTH_VALUES),
             rows=ROWS, who=WHO, where={"subset": CONTRADICTS}),
        View("truths", "Requests that repeat the truth: answers that change",
             [m.name_at("falsely_changed", place) for place in m.FALSE_CHANGE_PLACES],
             rows=ROWS, where={"subset": REPEATS}),
        View("costs", "What an edit costs", ("flops", "forward", "backward", "seconds"), rows=ROWS),
    ],
    tables=tables_of,
)  # fmt: skip

if __name__ == "__main__":
    launch_module()
