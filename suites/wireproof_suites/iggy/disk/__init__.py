"""Cases about segments on disk."""
