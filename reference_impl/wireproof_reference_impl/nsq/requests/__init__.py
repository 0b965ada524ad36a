"""HTTP requests and answers as values, with the default ways to read and make them."""
