"""What a run is given and must keep to."""
