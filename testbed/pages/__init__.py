"""The report: pictures, tables, and one page that opens from disk."""
