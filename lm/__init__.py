"""The language model, and the ways to edit it."""
