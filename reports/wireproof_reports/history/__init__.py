"""The memory: bundles taken into Parquet, once each, whatever interrupts it."""
