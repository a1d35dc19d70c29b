"""The passages that answer a question together, one leading to the next."""
