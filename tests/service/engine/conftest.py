"""Every test here runs on each of the logs."""

from tests.service.engine_driver import log_engine

__all__ = ["log_engine"]
