"""Figures of a record as the nested data from which they were flattened: the inverse, for tests."""

from experiments.figures import ESTIMATE, read_figures


def read_nested(path, table):
    """One table of a study's own figures, as the study gave it."""
    return nest_figures([one for one in read_figures(path) if one.table == table])


def nest_figures(figures):
    """The data from which `flatten_figures` made the figures of one table, without what was empty."""
    tree = {}
    for one in figures:
        place = tree
        for label in one.labels:
            place = place.setdefault(label, {})
        if one.over:
            place[one.figure]["few"].append([one.over, one.cases, one.low, one.high])
        elif one.clusters is not None:
            place.setdefault(one.figure, {}).update(
                {name: getattr(one, name) for name in ESTIMATE[:-1]} | {"few": []}
            )
        elif one.cases is not None:
            place[one.figure] = [one.value, one.low, one.high, one.cases]
        else:
            place[one.figure] = one.value if one.text is None else one.text
    return restore_lists(tree.get("", tree))


def restore_lists(node):
    if not isinstance(node, dict):
        return node
    children = {key: restore_lists(value) for key, value in node.items()}
    if children and all(key == f"[{i}]" for i, key in enumerate(children)):
        return list(children.values())
    return children
