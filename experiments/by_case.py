"""What each edit of a study came to, in one Parquet file of a record, and intervals computed from it again.

A row an editor and a case, with the two numbers of each metric, the subsets that the case is in, and the
clusters that it belongs to.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from testbed.engine.results import cluster_levels
from testbed.scores.frame import ALL
from testbed.scores.metric import Metric, metrics_shown_in
from testbed.scores.statistics import Estimate, estimate_metric
from testbed.scores.summary import ScoredEditor

CASES = "cases.parquet"
LARGEST = 200 * 1024
"""Bytes of a file of cases."""
DECIMALS = 5
IN, OVER, CLUSTER = "in: ", "over: ", "cluster: "
"""What stands before the name of a subset, of a metric's denominator, of a level of clusters."""


def write_cases(
    groups: Sequence[tuple[dict[str, Any], Sequence[ScoredEditor]]], subsets: Sequence[str], path: Path
) -> None:
    """Write as many metrics of every edit as fit into LARGEST bytes.

    Args:
        groups: editors by what tells their cells apart from others.
        subsets: of which figures are given, besides all edits.
    """
    scored = [(group, one) for group, editors in groups for one in editors]
    if not scored:
        return
    table = pa.concat_tables(
        [_table_of(group, one, subsets) for group, one in scored], promote_options="default"
    )
    traits: dict[str, tuple[bool, tuple[float, float]]] = {}
    for _, one in scored:
        traits |= {name: (m.share, m.limits) for name, m in one.values[one.name].items()}
    definitions = scored[0][1].evaluation.metrics
    names = [
        name
        for name in dict.fromkeys(
            [*metrics_shown_in(definitions, "headline"), *metrics_shown_in(definitions, "compared")]
        )
        if name in table.column_names
    ]
    known = [name for name in table.column_names if name.removeprefix(OVER) not in traits]
    while names:
        kept = table.select([*known, *(column for name in names for column in (name, OVER + name))])
        about = json.dumps({name: traits[name] for name in names})
        kept = kept.replace_schema_metadata({"metrics": about})
        pq.write_table(kept, path, compression="zstd", compression_level=19, write_statistics=False)
        if path.stat().st_size <= LARGEST:
            return
        names.pop()
    path.unlink(missing_ok=True)


def _table_of(group: dict[str, Any], editor: ScoredEditor, subsets: Sequence[str]) -> pa.Table:
    results, count = editor.edits.results, len(editor.edits.results)
    masks = editor.evaluation.subsets(results)
    columns: dict[str, Any] = {name: pa.array([str(value)] * count) for name, value in group.items()}
    columns["editor"] = pa.array([editor.name] * count)
    for level, of in cluster_levels(results).items():
        columns[CLUSTER + level] = pa.array(np.asarray(of), pa.int32())
    columns |= {IN + name: pa.array(masks[name]) for name in subsets if name in masks}
    for name, metric in editor.values[editor.name].items():
        columns[name] = pa.array(np.round(metric.numerator, DECIMALS), pa.float32())
        columns[OVER + name] = pa.array(np.round(metric.denominator, DECIMALS), pa.float32())
    return pa.table(columns)


def read_estimates(path: Path) -> Iterator[tuple[dict[str, str], Estimate]]:
    """What the cases come to: the estimate of every editor, subset and metric, and what it is of, by name."""
    table = pq.read_table(path)
    metrics = json.loads(table.schema.metadata[b"metrics"])
    subsets = [name for name in table.column_names if name.startswith(IN)]
    marks = (IN, OVER, CLUSTER)
    tags = [name for name in table.column_names if not name.startswith(marks) and name not in metrics]
    columns = {name: np.array(table[name]) for name in table.column_names}
    keys = list(zip(*(columns[name] for name in tags), strict=True))
    for key in dict.fromkeys(keys):
        rows = np.array([one == key for one in keys])
        levels = {
            name.removeprefix(CLUSTER): of[rows] for name, of in columns.items() if name.startswith(CLUSTER)
        }
        levels = {name: of.astype(int) for name, of in levels.items() if not np.isnan(of).any()}
        masks = {ALL: np.ones(rows.sum(), bool)}
        masks |= {name.removeprefix(IN): columns[name][rows].astype(bool) for name in subsets}
        for name, (share, limits) in metrics.items():
            pair = [np.nan_to_num(columns[column][rows].astype(float)) for column in (name, OVER + name)]
            metric = Metric(pair[0], pair[1], share, (limits[0], limits[1]))
            for subset, among in masks.items():
                of = dict(zip(tags, key, strict=True)) | {"subset": subset, "metric": name}
                yield of, estimate_metric(metric, levels, among)
