"""Traffic for a running server: plays scenarios against it and compares with the lab."""
