"""The folder that `testbed.examine` writes and a leaderboard reads: its files, format, order of editors."""

CARD, ANSWERS = "scorecard.json", "answers"
"""The card, and the folder of answers by world."""
FORMAT = 1
"""Of the card."""
BOUND = ("world", "corpus", "cases")
"""Hashes of a world that are the same on every machine."""


def standing_key(editor: str, better: int, worse: int) -> tuple[int, int, str]:
    """What editors are sorted by: rows surely better less surely worse, fewer of these, name."""
    return worse - better, worse, editor
