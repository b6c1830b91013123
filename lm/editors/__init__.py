"""Ways to edit the model: a folder each, settings in front and two pure functions behind (design.md 7)."""
