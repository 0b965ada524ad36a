"""Cases about the dispatch of tagged messages."""
