"""Clients under test: started once a case, and judged by what they do to peers of the kit."""
