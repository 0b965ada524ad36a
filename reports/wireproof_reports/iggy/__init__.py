"""What reports know of the Iggy protocol."""
