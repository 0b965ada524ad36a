"""Cases about ordered consumption."""
