"""Render a bundle as HTML, JUnit XML, Markdown, a badge or Allure results."""
