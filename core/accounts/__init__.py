"""What a run costs: totals, reached limits, and costs of nodes that failed or were stopped.

Begin with `spending` (totals and limits), then `ledger` (costs that the state does not have yet).
"""
