"""Cases about POST /pub_ext."""
