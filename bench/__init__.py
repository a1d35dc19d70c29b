"""How fast it is and what it takes, measured through the public face; figures stand in `docs/performance.md`."""
