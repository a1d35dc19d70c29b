"""What researchers may call."""
