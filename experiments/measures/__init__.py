"""Mathematics of studies: evaluations, agents and statistics of their own, apart from what is recorded."""
