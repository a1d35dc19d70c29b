"""From names to chat models."""
