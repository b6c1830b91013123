"""Numbers from results: distances, intervals, summaries, comparisons, tables."""
