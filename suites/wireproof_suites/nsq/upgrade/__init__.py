"""Cases about topics that get the extend feature later."""
