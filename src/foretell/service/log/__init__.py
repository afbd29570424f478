"""The log: records with checksums, linked in a hash chain, in a database that is synced."""
