"""Ingest bundles into a history of Parquet files and open its tables in Spark."""
