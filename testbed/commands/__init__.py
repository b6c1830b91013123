"""What the commands do; `testbed/NAME.py` is the door of each, which reads its options first."""
