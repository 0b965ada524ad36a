"""The files of a fuzzing user: corpus, reproducers, recorded findings."""
