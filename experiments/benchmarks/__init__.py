"""Speed, memory and growth, and what they are measured beside."""
