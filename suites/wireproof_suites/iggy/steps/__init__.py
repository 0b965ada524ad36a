"""Steps and observations that Iggy cases of several folders share."""
