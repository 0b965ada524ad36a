"""Clients under test: started once for each case, and judged by what they send."""
