"""Bytes from outside to text."""
