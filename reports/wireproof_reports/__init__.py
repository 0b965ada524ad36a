"""Renders one bundle as a report; collects many bundles in tables."""
