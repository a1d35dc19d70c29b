"""What a run costs: totals, reached limits, and costs of nodes that failed or were stopped.

Public modules: `spending` (totals, and what a run may still spend) and `ledger` (costs outside the
state: of failed nodes, and of the server's users). Begin with `spending`.
"""
