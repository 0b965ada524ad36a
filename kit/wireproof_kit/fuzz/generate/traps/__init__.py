"""Values that parsers often get wrong: texts, JSON, HTTP heads, numbers."""
