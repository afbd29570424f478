"""Inference that lab and service share: estimates, intervals, change points, delay curves."""
