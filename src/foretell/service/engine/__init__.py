"""The engine: a decision service without its web face."""

from foretell.service.engine.engine import Engine

__all__ = ["Engine"]
