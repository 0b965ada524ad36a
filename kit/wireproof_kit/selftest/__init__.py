"""The selftest: the suites run against faulty references and against legal variants."""
