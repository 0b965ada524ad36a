"""The broker without I/O and without a clock: every call is told the time, in ms since 1970."""
