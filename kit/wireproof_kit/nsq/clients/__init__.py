"""NSQ clients under test: two nsqlookupd and two nsqd that act by a script, and what they saw."""
