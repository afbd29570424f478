"""The log in SQLite: one file, one connection that writes, records that are synced in groups."""
