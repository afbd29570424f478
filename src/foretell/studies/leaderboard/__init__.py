"""Every policy on every scenario of the suite."""
