"""Research for other agents by the Model Context Protocol: begin with `tools.py`."""
