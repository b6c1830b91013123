"""Every passage as a line of JSON, with what each of its sentences is and what is wrong with it."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from corpus.files import staged_file
from testbed.evaluations.leme.examples import written
from testbed.evaluations.leme.flaws import flaws
from testbed.evaluations.leme.standard import standards
from testbed.run.world import World
from testbed.scores.comparison import Scored
from testbed.scores.readers import NO_EDIT


def write_passages(editor: Scored, world: World, folder: Path) -> Path:
    """What an editor's model wrote before and after each edit of this world, one passage a line.

    A line has `case`, `entity`, `role`, `reader`, `sample`, `text`, and `sentences`: of each its `text`, its
    `kind` (null where it cannot be read), `why` it is not one, or what it gets wrong, and the
    classes of errors it is an `error` of, under the first reading. Passages about twins have no such classes.
    """
    path = folder / f"passages-{editor.edited.slug}.jsonl"
    with staged_file(path) as aside:
        lines = (json.dumps(line, ensure_ascii=False) for line in _passages(editor, world))
        aside.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def _passages(editor: Scored, world: World) -> Iterator[dict]:
    results = editor.edited.results
    p, known, names = results.passages, standards(results, 1), world.graph.entities
    ours = results.cases["run"] == results.cases["run"].min()
    rows: dict[tuple[int, int], dict[str, int]] = {}
    for row in np.flatnonzero(ours[p.case]).tolist() if len(p.case) else []:
        rows.setdefault((int(p.case[row]), int(p.sample[row])), {})[str(p.role[row])] = row
    for reader in dict.fromkeys((NO_EDIT, editor.name)):
        texts = written(editor, reader)
        for (case, sample), of in rows.items():
            marks = flaws({role: texts[row] for role, row in of.items()}, known[case])
            for role, row in of.items():
                yield {
                    "case": case,
                    "entity": names[known[case].entities[role]],
                    "role": role,
                    "reader": reader,
                    "sample": sample,
                    "text": " . ".join(line.text for line in texts[row]),
                    "sentences": [
                        {
                            "text": line.text,
                            "kind": line.sentence and line.sentence.kind.name.lower(),
                            "why": line.flaw,
                            "error": [name for name, found in marks.items() if (role, at) in found],
                        }
                        for at, line in enumerate(texts[row])
                    ],
                }
