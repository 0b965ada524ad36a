"""An example client of Iggy; ``shell.py`` is the way in."""
