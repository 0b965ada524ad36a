"""Questions to a history, asked of Spark through its DataFrame API alone."""
