"""Where the log is kept: records with checksums in a hash chain, in a database that syncs."""
