"""What the report rests on: sources, their numbers, and the markers that name them."""
