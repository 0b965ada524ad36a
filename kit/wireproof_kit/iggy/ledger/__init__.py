"""What Iggy servers were given and what polls returned, held against the clauses of content."""
