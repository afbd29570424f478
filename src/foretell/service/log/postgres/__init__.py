"""The log in PostgreSQL, which any number of deciders write at the same time."""
