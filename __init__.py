"""Deep research on LangGraph: a question in, a report out in which every sentence can be traced to a passage."""
