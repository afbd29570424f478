"""What is timed, run as a whole with ``python -m benchmarks``."""
