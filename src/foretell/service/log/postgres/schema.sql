-- The tables of a log in PostgreSQL, version 1. docs/explanation/log-format.md explains every field.

CREATE SCHEMA IF NOT EXISTS foretell;

CREATE TABLE foretell.meta (
  name text PRIMARY KEY,
  value text NOT NULL,
  checksum integer NOT NULL
);

-- Every process that writes has a stream. fillfactor: a row changes often, and must stay in its page.
CREATE TABLE foretell.streams (
  stream integer PRIMARY KEY, -- numbered without a gap, so that one that was removed is missed
  slot integer NOT NULL,
  head bigint NOT NULL,       -- the first seq that may still be used
  first bigint NOT NULL,      -- the head with which it was opened
  last bigint NOT NULL,       -- the seq of its last record
  records bigint NOT NULL,
  link bytea NOT NULL,        -- that of its last record
  claims bigint NOT NULL,     -- the sum of the digests of its rows of keys and units
  sealed boolean NOT NULL,
  checksum integer NOT NULL,
  seen bigint NOT NULL,       -- up to where its process has folded the log
  beat timestamptz NOT NULL,
  host text NOT NULL
) WITH (fillfactor = 10);
CREATE UNIQUE INDEX streams_slot ON foretell.streams (slot) WHERE NOT sealed;

-- decision: NULL for a decision, whose number is its seq; the number of the decision that feedback
-- is about; else 0.
CREATE TABLE foretell.events (
  seq bigint PRIMARY KEY,
  campaign bigint NOT NULL,
  decision bigint,
  body bytea NOT NULL,
  checksum integer NOT NULL
);
CREATE INDEX events_feedback ON foretell.events (decision, seq) WHERE decision > 0;
CREATE INDEX events_decisions ON foretell.events (campaign, seq) WHERE decision IS NULL;
CREATE INDEX events_configuration ON foretell.events (campaign, seq) WHERE decision = 0;

-- Every 64th link of the chain of a stream, numbered from 1.
CREATE TABLE foretell.links (
  stream integer NOT NULL,
  seq bigint NOT NULL,
  number bigint NOT NULL,
  link bytea NOT NULL,
  PRIMARY KEY (stream, seq)
);

-- Every 256th decision of a campaign, with how many come before it; written once all those are there.
CREATE TABLE foretell.ranks (
  campaign bigint NOT NULL,
  seq bigint NOT NULL,
  rank bigint NOT NULL,
  PRIMARY KEY (campaign, seq)
);
CREATE UNIQUE INDEX ranks_rank ON foretell.ranks (campaign, rank);

-- What was claimed, for ever: the digest of a key, and the record that claimed it.
CREATE TABLE foretell.keys (
  campaign bigint NOT NULL,
  key bytea NOT NULL,
  seq bigint NOT NULL,
  PRIMARY KEY (campaign, key)
);

-- The actions of a sticky unit, and the decision that first gave each.
CREATE TABLE foretell.units (
  campaign bigint NOT NULL,
  unit bytea NOT NULL,
  n integer NOT NULL,
  action integer NOT NULL,
  seq bigint NOT NULL,
  PRIMARY KEY (campaign, unit, n)
);

-- What can be erased of a decision.
CREATE TABLE foretell.personal (
  seq bigint PRIMARY KEY,
  campaign bigint NOT NULL,
  unit bytea,
  context bytea NOT NULL,
  checksum integer NOT NULL
);
CREATE INDEX personal_unit ON foretell.personal (campaign, unit) WHERE unit IS NOT NULL;

CREATE TABLE foretell.states (
  campaign bigint NOT NULL,
  version text NOT NULL,
  position bigint NOT NULL,
  body bytea NOT NULL,
  digest bytea NOT NULL,
  PRIMARY KEY (campaign, version)
);

CREATE TABLE foretell.counters (
  campaign bigint NOT NULL,
  name text NOT NULL,
  count bigint NOT NULL,
  PRIMARY KEY (campaign, name)
);

-- When each key of the service was last used, in microseconds.
CREATE TABLE foretell.key_uses (
  id text PRIMARY KEY,
  last_used bigint NOT NULL
);

-- The time, in microseconds: that of this server, but for a test database, whose speed is in meta,
-- and where the deciders themselves may bring the time.
CREATE FUNCTION foretell.log_now() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  now double precision := extract(epoch FROM clock_timestamp()) * 1e6;
  scale double precision;
  origin double precision;
BEGIN
  IF EXISTS (SELECT 1 FROM foretell.meta WHERE name = 'clock' AND value = '"deciders"') THEN
    RETURN 4400000000000000;
  END IF;
  SELECT value INTO scale FROM foretell.meta WHERE name = 'time_scale';
  IF scale IS NULL THEN
    RETURN now;
  END IF;
  SELECT value INTO origin FROM foretell.meta WHERE name = 'time_origin';
  RETURN origin + (now - origin) * scale;
END $$;

-- Move the head of a stream: false if somebody has sealed it. Nobody runs away from the clock by
-- more than a second; a stream that is further in the future goes on as fast as time passes.
CREATE FUNCTION foretell.move_head(
  own integer, old_head bigint, new_head bigint, new_last bigint, new_records bigint,
  new_link bytea, new_claims bigint, new_checksum integer, new_seen bigint, rows integer
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  allowed bigint := (foretell.log_now() + 1000000) * 2048;
  scale double precision;
BEGIN
  IF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  IF new_head > allowed THEN
    SELECT value INTO scale FROM foretell.meta WHERE name = 'time_scale';
    SELECT old_head + (extract(epoch FROM clock_timestamp() - beat) * 1e6 * coalesce(scale, 1)
                       + rows + 1)::bigint * 2048
      INTO allowed FROM foretell.streams WHERE stream = own;
    IF new_head > allowed THEN
      RETURN 'ahead';
    END IF;
  END IF;
  UPDATE foretell.streams
    SET head = new_head, last = new_last, records = new_records, link = new_link,
        claims = new_claims, checksum = new_checksum, seen = new_seen, beat = clock_timestamp()
    WHERE stream = own AND head = old_head AND NOT sealed;
  RETURN CASE WHEN FOUND THEN 'moved' ELSE 'sealed' END;
END $$;

-- Keep the ranks of the decisions below a seq, below which no decision will come any more.
CREATE FUNCTION foretell.keep_ranks(below bigint) RETURNS void LANGUAGE sql AS $$
  INSERT INTO foretell.ranks (campaign, seq, rank)
    SELECT campaign, seq, rank FROM (
      SELECT campaigns.campaign, found.seq,
             coalesce(kept.rank, 0) - 1 + row_number() OVER (
               PARTITION BY campaigns.campaign ORDER BY found.seq) AS rank
        FROM (SELECT DISTINCT campaign FROM foretell.events WHERE decision = 0) AS campaigns
        LEFT JOIN LATERAL (
          SELECT seq, rank FROM foretell.ranks WHERE ranks.campaign = campaigns.campaign
            ORDER BY seq DESC LIMIT 1) AS kept ON true
        CROSS JOIN LATERAL (
          SELECT seq FROM foretell.events WHERE events.campaign = campaigns.campaign
            AND decision IS NULL AND seq >= coalesce(kept.seq, 0) AND seq < below) AS found
    ) AS ranked WHERE rank % 256 = 0
    ON CONFLICT DO NOTHING
$$;
