"""What a client does in any case, held against what its driver was asked and what it was sent."""
