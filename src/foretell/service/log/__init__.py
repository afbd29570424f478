"""Where the log is kept: lines with checksums in a hash chain, in a database that syncs."""
