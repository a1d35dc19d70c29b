"""A finished report in the forms that people read and programs take in."""
