"""What OpenMessaging systems were given and what they delivered, held against the clauses."""
