"""Whether a model can have answered so: its probabilities among each other, and beside what it generates."""

from collections.abc import Sequence

SLACK = 5e-3
"""By so much texts may be read otherwise in another batch, or on another device."""
END = -1
"""In the place of a token."""
Name = tuple[int, ...]


def find_contradiction(
    names: Sequence[Name], ended: Sequence[float], begun: Sequence[float], spoken: Name | None
) -> str:
    """Why no model answers a choice like that, in words; empty where one can.

    Generation takes the likeliest token each time. So where it left the path to an option, it took a token
    that was at least as likely as all options on that path together.

    Args:
        names: token ids of each option.
        ended, begun: float[options], p(option) with the end behind it, and without.
        spoken: what is generated up to its end; None where only that it is none of the options is known.
    """
    known = {name: float(p) for name, p in zip(names, begun, strict=True)}
    mass: dict[Name, float] = {}
    for option, (name, p) in enumerate(zip(names, map(float, ended), strict=True)):
        if p > known[name] + SLACK:
            return f"option {option} is likelier with the end behind it than without"
        for length in range(len(name) + 1):
            mass[name[:length]] = mass.get(name[:length], 0.0) + p
    # Ends are each other's alternatives; beginnings are, where none begins another.
    first = [p for name, p in known.items() if not any(name[:i] in known for i in range(1, len(name)))]
    if (total := max(mass.get((), 0.0), sum(first))) > 1 + SLACK:
        return f"probabilities of the options sum to {total:.4g}"
    mass |= {name: max(mass[name], p) for name, p in known.items()}
    if spoken is None:
        best = max(range(len(names)), key=lambda option: ended[option], default=-1)
        return _say_unlike(names, names[best]) if best >= 0 and ended[best] > 0.5 + SLACK else ""
    for i, token in enumerate((*spoken, END)):
        path = spoken[:i]
        taken = (*path, token)
        others = {other: p for other, p in mass.items() if len(other) == len(taken) and other[:-1] == path}
        others.pop(taken, None)
        most = known.get(taken, known.get(path, 1.0) - sum(others.values()))
        left = max(others, key=lambda other: others[other], default=taken)
        if others.get(left, 0.0) > most + SLACK:
            return _say_unlike(names, left)
    return ""


def _say_unlike(names: Sequence[Name], path: Name) -> str:
    option = next(i for i, name in enumerate(names) if name[: len(path)] == path)
    return f"something else is generated than by its probabilities, by which option {option} is likelier"
