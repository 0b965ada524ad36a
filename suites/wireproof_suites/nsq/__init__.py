"""Cases for youzan NSQ."""
