"""Clients of generation apache: their requests read, the server they meet, and what binds them."""
