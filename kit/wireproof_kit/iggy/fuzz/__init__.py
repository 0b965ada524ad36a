"""Iggy: which frames there are, in which states, and what a server owes for them."""
