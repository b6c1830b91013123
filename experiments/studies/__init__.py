"""What was studied: a module for each record, and what several of them share."""
