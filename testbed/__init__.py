"""The commands, the test cases, the metrics and the reports."""
