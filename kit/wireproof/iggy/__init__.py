"""What the command line must know of Iggy."""
