"""From collected cases to observations: the run, the engine, its patience."""
