"""What LangGraph does not make public but this package needs; no other module imports private names
of other packages.

Seen in langgraph 1.2.22 and langgraph-checkpoint 4.3.2. Look here first when the bounds in
`pyproject.toml` are raised.
"""

from __future__ import annotations

from langgraph._internal._config import ensure_config
from langgraph.checkpoint.serde._msgpack import SAFE_MSGPACK_METHODS, SAFE_MSGPACK_TYPES
from langgraph.checkpoint.serde.types import _DeltaSnapshot as DeltaSnapshot
from langgraph.graph.message import _messages_delta_reducer as merge_messages

__all__ = [
    "SAFE_MSGPACK_METHODS",
    "SAFE_MSGPACK_TYPES",
    "DeltaSnapshot",
    "ensure_config",
    "merge_messages",
]
