"""Ways to edit the model: one file per method, each two pure functions on a frozen config (DESIGN 7)."""
