-- Partitions and archives; and a log that has moved opens no stream any more.

-- The partitions of events by their ranges of seq.
CREATE TABLE foretell.partitions (
  name text PRIMARY KEY,
  lower bigint NOT NULL,
  upper bigint NOT NULL
);

-- The ranges of seq whose decisions and feedback are in a file, and the campaigns they were of.
CREATE TABLE foretell.archives (
  lower bigint PRIMARY KEY,
  upper bigint NOT NULL,
  campaigns bigint[] NOT NULL
);

-- The first seq of a month: that of a seq, or some months later.
CREATE FUNCTION foretell.month_of(at bigint, later integer) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT (extract(epoch FROM date_trunc('month', to_timestamp(at / 2048 / 1000000) AT TIME ZONE 'UTC')
                             + make_interval(months => later)) * 1000000)::bigint * 2048
$$;

CREATE FUNCTION foretell.partition_name(lower bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT 'events_' || to_char(to_timestamp(lower / 2048 / 1000000) AT TIME ZONE 'UTC', 'YYYY_MM')
$$;

-- What was there becomes the first partition, as it is; it ends with the month of its last record.
ALTER TABLE foretell.events RENAME TO events_first;
ALTER INDEX foretell.events_pkey RENAME TO events_first_pkey;
ALTER INDEX foretell.events_feedback RENAME TO events_first_feedback;
ALTER INDEX foretell.events_decisions RENAME TO events_first_decisions;
ALTER INDEX foretell.events_configuration RENAME TO events_first_configuration;
CREATE TABLE foretell.events (
  seq bigint PRIMARY KEY,
  campaign bigint NOT NULL,
  decision bigint,
  body bytea NOT NULL,
  checksum integer NOT NULL
) PARTITION BY RANGE (seq);
CREATE INDEX events_feedback ON foretell.events (decision, seq) WHERE decision > 0;
CREATE INDEX events_decisions ON foretell.events (campaign, seq) WHERE decision IS NULL;
CREATE INDEX events_configuration ON foretell.events (campaign, seq) WHERE decision = 0;
CREATE TABLE foretell.events_rest PARTITION OF foretell.events DEFAULT;
DO $$
DECLARE
  last bigint := (SELECT max(seq) FROM foretell.events_first);
BEGIN
  IF last IS NULL THEN
    DROP TABLE foretell.events_first;
  ELSE
    EXECUTE format('ALTER TABLE foretell.events ATTACH PARTITION foretell.events_first '
                   'FOR VALUES FROM (0) TO (%s)', foretell.month_of(last, 1));
    INSERT INTO foretell.partitions VALUES ('events_first', 0, foretell.month_of(last, 1));
  END IF;
END $$;

ALTER TABLE foretell.keys RENAME TO keys_before;
ALTER INDEX foretell.keys_pkey RENAME TO keys_before_pkey;
CREATE TABLE foretell.keys (
  campaign bigint NOT NULL,
  key bytea NOT NULL,
  seq bigint NOT NULL,
  PRIMARY KEY (campaign, key)
) PARTITION BY HASH (key);
DO $$
BEGIN
  FOR number IN 0..7 LOOP
    EXECUTE format('CREATE TABLE foretell.keys_%s PARTITION OF foretell.keys '
                   'FOR VALUES WITH (MODULUS 8, REMAINDER %s)', number, number);
  END LOOP;
END $$;
INSERT INTO foretell.keys SELECT * FROM foretell.keys_before;
DROP TABLE foretell.keys_before;

-- Make the partitions of the month of a seq and of the two after it, where nothing is in their range
-- yet. What has no partition goes to events_rest. It waits for nobody: that would hold up all others.
CREATE FUNCTION foretell.make_partitions(at bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  low bigint;
  high bigint;
BEGIN
  PERFORM set_config('lock_timeout', '200', true);
  FOR later IN 0..2 LOOP
    low := foretell.month_of(at, later);
    high := foretell.month_of(at, later + 1);
    CONTINUE WHEN EXISTS (SELECT 1 FROM foretell.partitions WHERE lower < high AND upper > low)
               OR EXISTS (SELECT 1 FROM foretell.archives WHERE lower < high AND upper > low)
               OR EXISTS (SELECT 1 FROM foretell.events_rest WHERE seq >= low AND seq < high);
    EXECUTE format('CREATE TABLE foretell.%I PARTITION OF foretell.events '
                   'FOR VALUES FROM (%s) TO (%s)', foretell.partition_name(low), low, high);
    INSERT INTO foretell.partitions VALUES (foretell.partition_name(low), low, high);
  END LOOP;
EXCEPTION
  WHEN lock_not_available THEN
    NULL; -- the next start makes them
END $$;

-- Move what is in events_rest of a month to a partition of its own; return its name.
CREATE FUNCTION foretell.sort_out(low bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  high bigint := foretell.month_of(low, 1);
  part text := foretell.partition_name(low);
BEGIN
  EXECUTE format('CREATE TABLE foretell.%I (LIKE foretell.events INCLUDING ALL)', part);
  EXECUTE format('WITH moved AS (DELETE FROM foretell.events_rest WHERE seq >= %s AND seq < %s '
                 'RETURNING *) INSERT INTO foretell.%I SELECT * FROM moved', low, high, part);
  EXECUTE format('ALTER TABLE foretell.events ATTACH PARTITION foretell.%I '
                 'FOR VALUES FROM (%s) TO (%s)', part, low, high);
  INSERT INTO foretell.partitions VALUES (part, low, high);
  RETURN part;
END $$;

-- Take a partition out of the log. What stays: all that is about no decision, and of each stream the
-- records after the last link in the partition, from which its chain goes on.
CREATE FUNCTION foretell.detach(part text, of_campaigns bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  low bigint;
  high bigint;
BEGIN
  SELECT lower, upper INTO STRICT low, high FROM foretell.partitions WHERE name = part;
  EXECUTE format('ALTER TABLE foretell.events DETACH PARTITION foretell.%I', part);
  EXECUTE format(
    'INSERT INTO foretell.events SELECT old.* FROM foretell.%I AS old WHERE old.decision = 0 '
    'OR EXISTS (SELECT 1 FROM foretell.streams WHERE streams.slot = (old.seq & 2047) '
    'AND old.seq BETWEEN streams.first AND streams.last AND old.seq > coalesce('
    '(SELECT max(links.seq) FROM foretell.links WHERE links.stream = streams.stream '
    'AND links.seq < %s), 0))', part, high);
  DELETE FROM foretell.personal WHERE seq >= low AND seq < high;
  DELETE FROM foretell.partitions WHERE name = part;
  INSERT INTO foretell.archives VALUES (low, high, of_campaigns);
END $$;

CREATE FUNCTION foretell.refuse_moved() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  place text := (SELECT value FROM foretell.meta WHERE name = 'moved_to');
BEGIN
  IF place IS NOT NULL THEN
    RAISE EXCEPTION 'the log has moved to %, and this one is sealed: use that one', place
      USING ERRCODE = 'FT002';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER streams_moved BEFORE INSERT ON foretell.streams
  FOR EACH ROW WHEN (NOT NEW.sealed) EXECUTE FUNCTION foretell.refuse_moved();
