"""Adds bundles to a history of Delta tables, and opens its tables in Spark."""
