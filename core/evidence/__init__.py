"""What a report rests on, in pure functions: `citations`, `checking`, `memory`, and the `text` functions below them."""
