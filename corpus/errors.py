"""The one exception that means: the input is wrong, and here is what to do about it."""


class InputError(ValueError):
    """Bad input. Commands print its message and exit with code 2, without a traceback.

    The message names the file, line or value at fault and says what to change.
    """
