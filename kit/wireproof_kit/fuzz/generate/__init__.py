"""Cases out of a grammar: frames, mutations, values, conversations."""
