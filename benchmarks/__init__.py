"""How fast lupi is, against what, and how the cost grows: `make bench`."""
