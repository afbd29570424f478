"""The rules of the service: pure functions and machines without clock, I/O or HTTP."""
