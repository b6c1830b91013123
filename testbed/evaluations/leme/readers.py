"""Who answers LEME's questions besides the edited model, and who writes its passages.

The Bayesian reader writes, too: one draw, for each case, of all facts together from what is believed after
the request, the same in all of its passages. The frequency reader draws what it writes about a fact from the
corpus's statements of it, each time again. Both write every fact of the passage's entity twice.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from corpus.seeds import generator
from corpus.text.consistency import Fact
from corpus.text.language import Atom, Kind, Sentence
from corpus.text.reading import Line
from testbed.engine.results import Results
from testbed.evaluations.leme.standard import draw_objects, standards_of_cases
from testbed.evaluations.leme.statements import trim_passage
from testbed.scores.readers import BAYESIAN, BEFORE_EDIT, FREQUENCY, NO_EDIT, Reader, reference_readers

TIMES = 2
"""How often a writer states each fact, so that it might contradict itself."""


def make_readers(results: Results, editor: str) -> dict[str, Reader]:
    """The edited model and the references under the first interpretation, and the agent under the second."""
    second = f"{BAYESIAN}, {results.times[2]}"
    by_name = reference_readers(results, editor) | {
        second: reference_readers(results, editor, interpretation=2)[BAYESIAN]
    }
    before, after = (model_passages(results, when) for when in (0, 1))
    texts = {BEFORE_EDIT: before, editor: after, NO_EDIT: before, FREQUENCY: _frequency_passages(results)}
    texts |= {name: _bayesian_passages(results, by_name[name].time) for name in (BAYESIAN, second)}
    p = results.passages
    loss = -p.log_p / np.where(p.tokens > 0, p.tokens, np.nan)
    losses = {BEFORE_EDIT: loss[:, 0], editor: loss[:, 1], NO_EDIT: loss[:, 0]}
    return {
        name: reader._replace(texts=texts.get(name), losses=losses.get(name))
        for name, reader in by_name.items()
    }


def model_passages(results: Results, when: int) -> np.ndarray:
    """What the model wrote, object[passages] of lines: 0 before the edit, 1 after it."""
    p = results.passages
    return as_column(
        trim_passage(lines, ended) for lines, ended in zip(p.lines[:, when], p.ended[:, when], strict=True)
    )


def _bayesian_passages(results: Results, time: int) -> np.ndarray:
    """What the agent writes."""
    standards = standards_of_cases(results, time)
    objects = [
        draw_objects(one, generator(case, f"bayesian writer {time}")) for case, one in enumerate(standards)
    ]

    def write_lines(case: int, entity: int) -> Iterator[Line]:
        for fact, obj in objects[case].items():
            if fact[0] == entity:
                yield from [line_stating(fact, obj)] * TIMES

    p = results.passages
    return as_column(
        tuple(write_lines(case, standards[case].entities[str(role)]))
        for case, role in zip(p.case.tolist(), p.role, strict=True)
    )


def _frequency_passages(results: Results) -> np.ndarray:
    """What an ideal model writes that says things as often as the corpus, the request copied in."""
    c, p, rng = results.choices, results.passages, generator(0, "frequency writer")
    rows: dict[tuple[int, int], dict[Fact, int]] = {}
    for row in range(len(c.case)):
        fact = int(c.subject[row]), int(c.relation[row])
        rows.setdefault((int(c.case[row]), fact[0]), {})[fact] = row
    entities = [standard.entities for standard in standards_of_cases(results, 1)]

    def write_lines(case: int, entity: int) -> Iterator[Line]:
        for fact, row in rows.get((case, entity), {}).items():
            weights = c.frequency[row, 1]
            if weights.sum() > 0:
                places = rng.choice(len(weights), TIMES, p=weights / weights.sum())
                yield from (line_stating(fact, obj) for obj in c.options[row][places].tolist())

    return as_column(
        tuple(write_lines(case, entities[case][str(role)]))
        for case, role in zip(p.case.tolist(), p.role, strict=True)
    )


def line_stating(fact: Fact, obj: int) -> Line:
    """The sentence that a fact has an object, as it is read."""
    return Line("", Sentence(Kind.ATOMIC, None, Atom(*fact, obj)), "")


def as_column(texts: Iterable[tuple[Line, ...]]) -> np.ndarray:
    """object[passages]."""
    rows = list(texts)
    column = np.empty(len(rows), object)
    column[:] = rows
    return column
