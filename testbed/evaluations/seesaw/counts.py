"""How much was asked, beside what the paper asked (its Tables 3, 7 and 16 to 18)."""

import numpy as np

from corpus.worlds.people import BORN, CITIZENSHIP, EDITED, GENDER, LANGUAGE, WORK
from testbed.engine.results import Results
from testbed.evaluations.seesaw.crossing import PAPER_PAIRS, property_pairs
from testbed.evaluations.seesaw.roles import OTHERS, OWN
from testbed.scores.tables import Cell, Table

TABLE_3 = {
    WORK: (343, 418_080, 5_205),
    LANGUAGE: (897, 204_266, 13_225),
    CITIZENSHIP: (282, 49_105, 2_820),
    GENDER: (290, 29_000, 2_900),
    BORN: (286, 34_169, 2_860),
}
"""People, cross-subject prompts and open-ended prompts, as printed."""
TABLE_7 = dict(
    zip(
        PAPER_PAIRS,
        ((286, 36_349), (286, 34_169), (290, 29_000), (282, 47_714), (282, 49_105), (282, 49_402),
         (279, 55_593), (279, 55_524)),
        strict=True,
    )
)  # fmt: skip
"""Cases and prompts of each pair, as printed."""
CATEGORIES = {
    WORK: "219: arts 14, humanities 55, science 119, social science 31",
    CITIZENSHIP: "90: Europe 77, Asia 6, Africa 2, North America 2, Oceania 2, none 1",
    BORN: "232: Europe 173, North America 42, Asia 14, Africa 1, Oceania 1, South America 1",
    LANGUAGE: "30",
    GENDER: "2",
}
"""Objects that are old or new ones, by category, as printed (Tables 16 to 18; of language, in the data)."""


def count_tables(results: Results) -> list[Table]:
    """What was asked after edits of each property, and after which edits other properties were asked."""
    return [_others_table(results), _own_table(results)]


def _others_table(results: Results) -> Table:
    c, of = results.choices, results.cases["property"].astype(str)
    text = results.passages
    rows: list[list[Cell]] = []
    for name in EDITED:
        mine = of == name
        asked = [int((mine[c.case] & (c.role == kind)).sum()) for kind in OTHERS]
        written = int(mine[text.case].sum())
        objects = np.union1d(results.cases["object"][mine], results.cases["truth"][mine])
        people = len(np.unique(results.cases["subject"][mine]))
        rows.append(
            [name, int(mine.sum()), people, *asked, written, len(objects), *TABLE_3[name], CATEGORIES[name]]
        )
    header = [
        "edited", "edits", "people", *OTHERS, "texts", "objects", "printed people", "printed prompts",
        "printed texts", "printed objects",
    ]  # fmt: skip
    note = "The paper's later version; the earlier one has work and language only, with the same numbers."
    return Table("counts", "What was asked (Tables 3 and 16 to 18)", header, rows, note)


def _own_table(results: Results) -> Table:
    c, of = results.choices, results.cases["property"].astype(str)
    own = (c.role == OWN) & results.cases["elsewhere"].astype(bool)[c.case]
    asked = c.facets["property"].astype(str)
    rows: list[list[Cell]] = []
    for one, other in property_pairs():
        number = int((own & (of[c.case] == one) & (asked == other)).sum())
        rows.append([f"{one} / {other}", number, *TABLE_7.get((one, other), (None, None))])
    header = ["edited / asked", "questions", "printed cases", "printed prompts"]
    return Table("counts-own", "Other properties asked (Table 7)", header, rows)
