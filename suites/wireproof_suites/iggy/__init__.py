"""Cases of Iggy, by interface; read as experiments, judged by the catalogue."""
