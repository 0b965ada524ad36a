"""NSQ clients under test: two nsqlookupd and two nsqd play a script and record events."""
