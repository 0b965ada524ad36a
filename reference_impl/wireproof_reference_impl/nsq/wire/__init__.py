"""What stands in frames, headers and records, and how it is read and written."""
