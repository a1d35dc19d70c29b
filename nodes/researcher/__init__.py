"""The nodes of the researcher subgraph, all public: `think_or_act`, the first, decides, `use_tools`
searches and reads, `write_finding` ends.
"""
