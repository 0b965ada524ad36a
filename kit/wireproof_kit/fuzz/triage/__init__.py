"""From an anomaly to a confirmed, minimized and folded finding."""
