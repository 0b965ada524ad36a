"""The questions asked of a history; they use only Spark's DataFrame API."""
