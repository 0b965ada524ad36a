"""What a report knows of the Iggy protocol."""
