-- The tables of a log, formats 1 and 2. docs/explanation/log-format.md explains every field.

-- One stream is open, with slot 0. Its row changes in every transaction that adds a record, so
-- that records that were cut off at the end are missed.
CREATE TABLE IF NOT EXISTS streams (
  stream INTEGER PRIMARY KEY,
  slot INTEGER NOT NULL,
  head INTEGER NOT NULL,      -- the first seq that may still be used
  link BLOB NOT NULL,         -- that of the last record
  claims INTEGER NOT NULL,    -- the sum of the digests of all rows of keys and units
  boot_id TEXT NOT NULL,      -- the boot of the machine in which head was written,
  boot_time INTEGER NOT NULL, -- and its clock then, in microseconds
  sealed INTEGER NOT NULL,
  checksum INTEGER NOT NULL
) STRICT;

-- The streams that came by copy, sealed, with their slots and chains. The number of the open stream
-- follows theirs, and its records are above all their heads.
CREATE TABLE IF NOT EXISTS copied_streams (
  stream INTEGER PRIMARY KEY,
  slot INTEGER NOT NULL,
  head INTEGER NOT NULL,
  first INTEGER NOT NULL,     -- the head with which it was opened
  last INTEGER NOT NULL,      -- the seq of its last record
  records INTEGER NOT NULL,
  link BLOB NOT NULL,
  claims INTEGER NOT NULL,
  host TEXT NOT NULL,
  checksum INTEGER NOT NULL
) STRICT;

-- decision: NULL for a decision, whose number is its seq; the number of the decision that feedback
-- is about; else 0.
CREATE TABLE IF NOT EXISTS events (
  seq INTEGER PRIMARY KEY,
  campaign INTEGER NOT NULL,
  decision INTEGER,
  body BLOB NOT NULL,
  checksum INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS feedback ON events (decision) WHERE decision > 0;
CREATE INDEX IF NOT EXISTS decisions ON events (campaign, decision) WHERE decision IS NULL;
CREATE INDEX IF NOT EXISTS configuration ON events (campaign) WHERE decision = 0;

-- Every 64th link of the chain of a stream, numbered from 1.
CREATE TABLE IF NOT EXISTS links (
  stream INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  number INTEGER NOT NULL,
  link BLOB NOT NULL,
  PRIMARY KEY (stream, seq)
) STRICT, WITHOUT ROWID;

-- Every 256th decision of a campaign, with how many come before it.
CREATE TABLE IF NOT EXISTS ranks (
  campaign INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  rank INTEGER NOT NULL,
  PRIMARY KEY (campaign, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS rank_of ON ranks (campaign, rank);

-- What was claimed, for ever: the digest of a key, and the record that claimed it.
CREATE TABLE IF NOT EXISTS keys (
  campaign INTEGER NOT NULL,
  key BLOB NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (campaign, key)
) STRICT, WITHOUT ROWID;

-- The actions of a sticky unit, and the decision that first gave each.
CREATE TABLE IF NOT EXISTS units (
  campaign INTEGER NOT NULL,
  unit BLOB NOT NULL,
  n INTEGER NOT NULL,
  action INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (campaign, unit, n)
) STRICT, WITHOUT ROWID;

-- What can be erased of a decision.
CREATE TABLE IF NOT EXISTS personal (
  seq INTEGER PRIMARY KEY,
  campaign INTEGER NOT NULL,
  unit BLOB,
  context BLOB NOT NULL,
  checksum INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS personal_unit ON personal (campaign, unit) WHERE unit IS NOT NULL;

CREATE TABLE IF NOT EXISTS states (
  campaign INTEGER NOT NULL,
  version TEXT NOT NULL,
  position INTEGER NOT NULL,
  body BLOB NOT NULL,
  digest BLOB NOT NULL,
  PRIMARY KEY (campaign, version)
) STRICT;

CREATE TABLE IF NOT EXISTS counters (
  campaign INTEGER NOT NULL,
  name TEXT NOT NULL,
  count INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (campaign, name)
) STRICT;

-- When each key of the service was last used, in microseconds.
CREATE TABLE IF NOT EXISTS key_uses (
  id TEXT PRIMARY KEY,
  last_used INTEGER NOT NULL,
  checksum INTEGER NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS meta (
  name TEXT PRIMARY KEY,
  value ANY NOT NULL,
  checksum INTEGER NOT NULL
) STRICT;
