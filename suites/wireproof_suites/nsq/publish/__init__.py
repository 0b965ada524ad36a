"""Cases about PUB_EXT and the other publish commands."""
