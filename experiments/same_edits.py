"""Are the edits of one run those of an earlier version? Compares cases, answers and probabilities.

    python -m experiments.same_edits OLD_RUN NEW_RUN

OLD_RUN was edited by revision 882276c, where a case's choices were nested in cases.parquet. Editors are
matched by name; of several folders of one name those with as many cases.
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

PAIRS = (("agent", "agent"), ("frequency", "frequency"), ("lm", "lm"), ("lm_open", "lm_open"))
SCALARS = (
    "subject", "relation", "object", "truth", "kind", "reinforces", "weight", "child", "changes",
    "support_new", "support_old", "stratum", "cluster", "position", "steps", "forward", "backward",
)  # fmt: skip


def compare(old: Path, new: Path, stem_old: str = "cases", stem: str = "") -> None:
    """Print what differs between two folders of edits."""
    before = sorted(pq.read_table(old / f"{stem_old}.parquet").to_pylist(), key=lambda row: row["case"])
    cases = sorted(pq.read_table(new / f"{stem}cases.parquet").to_pylist(), key=lambda row: row["case"])
    choices: dict[int, dict[str, dict]] = {}
    claims: dict[int, dict[str, dict]] = {}
    for row in pq.read_table(new / f"{stem}choices.parquet").to_pylist():
        choices.setdefault(row["case"], {})[row["role"]] = row
    for row in pq.read_table(new / f"{stem}claims.parquet").to_pylist():
        claims.setdefault(row["case"], {})[row["role"]] = row
    assert len(before) == len(cases), (len(before), len(cases))
    most, answers, asked, scalars = dict.fromkeys((*(x for x, _ in PAIRS), "logic"), 0.0), 0, 0, 0
    for one, two in zip(before, cases, strict=True):
        scalars += sum(one[name] != two[name] for name in SCALARS)
        mine = choices[two["case"]]
        assert [cell["name"] for cell in one["cells"]] == list(mine)
        times = [
            c.removeprefix("agent_answer_")
            for c in next(iter(mine.values()))
            if c.startswith("agent_answer_")
        ]
        for cell in one["cells"]:
            row = mine[cell["name"]]
            assert cell["objects"] == row["options"]
            for who, name in PAIRS:
                whens = times if who in ("agent", "frequency") else ["before", "after"]
                for then, now in zip(("before", "after"), whens, strict=True):
                    gap = np.abs(np.subtract(cell[f"{who}_{then}"], row[f"{name}_{now}"])).max()
                    most[who] = max(most[who], float(gap))
            for who, whens in (("agent", times), ("lm", ["before", "after"])):
                for then, now in zip(("before", "after"), whens, strict=True):
                    answers += cell[f"{who}_answer_{then}"] != row[f"{who}_answer_{now}"]
                    asked += 1
        for claim in one["logic"]:
            row = claims[two["case"]][claim["statement"]]
            for column in ("true_before", "false_before", "true_after", "false_after"):
                most["logic"] = max(most["logic"], abs(claim[column] - row[column]))
    gaps = ", ".join(f"{who} {gap:.1e}" for who, gap in most.items())
    counts = f"{scalars} other columns; {answers} of {asked} answers"
    print(f"{new.name}{stem}: {len(cases)} cases, {counts}; largest gaps: {gaps}")


def main() -> None:
    """The command line."""
    old, new = (Path(argument) / "edits" for argument in sys.argv[1:])
    for folder in sorted((new / "hase").iterdir()):
        name = folder.name.rpartition("-")[0]
        size = len(pq.read_table(folder / "cases.parquet"))
        retained = sorted(folder.glob("retained-*-cases.parquet"))
        for other in sorted(old.glob(f"{name}-*")):
            same = len(pq.read_table(other / "cases.parquet")) == size
            if (
                other.name.rpartition("-")[0] == name
                and same
                and bool(retained) == any(other.glob("retained-*"))
            ):
                compare(other, folder)
                for path in retained:
                    stem = path.name.removesuffix("cases.parquet")
                    compare(other, folder, stem.removesuffix("-"), stem)


if __name__ == "__main__":
    main()
