"""NSQ: what the published texts on youzan NSQ say, as data."""
