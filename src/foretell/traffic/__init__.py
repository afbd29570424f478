"""Traffic for a running server: scenarios played against it, and its regret beside the lab's."""
