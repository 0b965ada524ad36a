"""The selftest: suites run against references that are wrong, or legally different, on purpose."""
