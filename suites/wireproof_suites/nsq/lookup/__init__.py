"""Cases about lookup servers."""
