"""What a rational agent believes after reading the corpus."""

VERSIONS = {"paper": 1, "exact": 1}
"""Of each agent; raised when it believes otherwise."""
