"""Cases about clusters: nodes that do not lead, leader changes, lost nodes."""
