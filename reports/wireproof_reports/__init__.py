"""One bundle to a page, many bundles to tables."""
