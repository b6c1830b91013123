"""The one exception that means: the input is wrong, and here is what to do about it.

And how a message names some of many.
"""

from collections.abc import Sequence

NAMED = 10
"""So many names of a list are told."""


class InputError(ValueError):
    """Bad input. Commands print its message and exit with code 2, without a traceback.

    The message names the file, line or value at fault and says what to change.
    """


def name_some(names: Sequence[str], where: str = "") -> str:
    """The first names of a list, and how many more there are.

    >>> name_some([*"abcdefghijkl"], ", all in a file")
    'a, b, c, d, e, f, g, h, i, j and 2 more, all in a file'

    Args:
        where: behind the number, where the others are.
    """
    more = f" and {len(names) - NAMED:,} more{where}" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
