"""What the example client does where its server is of generation apache."""
