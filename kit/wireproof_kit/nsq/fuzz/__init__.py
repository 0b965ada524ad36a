"""NSQ: which frames there are, in which states, and what a broker owes for them."""
