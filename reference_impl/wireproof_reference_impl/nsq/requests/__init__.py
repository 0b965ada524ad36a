"""HTTP requests and answers as values, and how they are read and made by default."""
