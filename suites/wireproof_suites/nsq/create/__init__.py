"""Cases about creating, changing and deleting topics through lookup servers."""
