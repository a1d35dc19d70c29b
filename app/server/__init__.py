"""LangGraph's server as we serve it: who may ask, what for, and the page in the browser.

`graphs.py` holds what `langgraph.json` names; begin with `guard.py`, through which every request comes.
"""
