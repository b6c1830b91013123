"""The explorer: a page with a row for every edit of every editor, which opens from disk (design.md 7)."""
