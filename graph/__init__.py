"""The shape of the graphs."""
