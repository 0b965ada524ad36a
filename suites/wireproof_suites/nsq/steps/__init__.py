"""Steps and observations that NSQ cases of several folders share."""
