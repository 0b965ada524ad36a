"""How requests are read and answers laid out: frames, fields, messages, JSON and HTTP."""
