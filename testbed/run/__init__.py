"""What is on disk, and what was made of it: runs, world, agents, model, training."""
