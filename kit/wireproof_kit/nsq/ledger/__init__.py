"""What NSQ brokers were given and what they delivered, held against the clauses of content."""
