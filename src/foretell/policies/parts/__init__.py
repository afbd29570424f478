"""Building blocks of policies."""
