"""What reports know of the NSQ protocol."""
