"""Where worlds come from: one module or folder for each source."""
