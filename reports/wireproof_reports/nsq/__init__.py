"""What a report knows of the NSQ protocol."""
