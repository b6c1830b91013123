"""What a lack of memory looks like: libraries say it in many ways."""

import re

NO_MEMORY = re.compile(
    "bad_alloc|RESOURCE_EXHAUSTED|[Oo]ut of memory|start new thread|Unable to convert call argument"
    "|without setting an exception|with an exception set|without exception set"
)
"""What they say in place of MemoryError; pybind11 (matplotlib) and CPython name no cause."""


def is_lack_of_memory(error: BaseException) -> bool:
    """Whether an error, or one that led to it, is what Python or a library makes of a lack of memory."""
    causes = (error.__cause__, error.__context__)
    return (
        isinstance(error, MemoryError)
        or (isinstance(error, RuntimeError | SystemError) and bool(NO_MEMORY.search(str(error))))
        or any(is_lack_of_memory(cause) for cause in causes if cause is not None)
    )
