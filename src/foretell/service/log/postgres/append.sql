-- The function that writes a group, in place of one that an older version has made.
DROP FUNCTION IF EXISTS foretell.append;

-- Write the records of one group, all or none: none if one of its claims was made before, which
-- violates the primary key of its table. Keys and units are inserted in order, else two groups could
-- wait for each other. The seqs of a group are as close to each other as the slots allow; a key names
-- its record by its place in the group. Bodies, and the digests of keys, are in one piece each.
CREATE FUNCTION foretell.append(
  own integer, old_head bigint, new_head bigint, new_last bigint, new_records bigint,
  new_link bytea, new_claims bigint, new_checksum integer, new_seen bigint, lock_milliseconds integer,
  first_seq bigint,
  campaigns bigint[], decisions bigint[], body_starts integer[], body_lengths integer[], bodies bytea,
  checksums integer[],
  key_campaigns bigint[], key_places bigint[], key_digests bytea,
  link_seqs bigint[], link_numbers bigint[], link_values bytea[],
  unit_campaigns bigint[], unit_names bytea[], unit_ns integer[], unit_actions integer[],
  unit_seqs bigint[],
  personal_seqs bigint[], personal_campaigns bigint[], personal_units bytea[], contexts bytea[],
  personal_checksums integer[]
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  moved text;
BEGIN
  PERFORM set_config('lock_timeout', lock_milliseconds::text, true);
  moved := foretell.move_head(own, old_head, new_head, new_last, new_records, new_link, new_claims,
                              new_checksum, new_seen, cardinality(campaigns));
  IF moved <> 'moved' THEN
    RETURN moved;
  END IF;
  IF cardinality(key_places) > 0 THEN
    INSERT INTO foretell.keys (campaign, key, seq)
      SELECT campaign, substr(key_digests, number::integer * 12 - 11, 12) AS key,
             first_seq + place * 2048
        FROM unnest(key_campaigns, key_places) WITH ORDINALITY AS one (campaign, place, number)
        ORDER BY campaign, key;
  END IF;
  IF cardinality(unit_seqs) > 0 THEN
    INSERT INTO foretell.units (campaign, unit, n, action, seq)
      SELECT * FROM unnest(unit_campaigns, unit_names, unit_ns, unit_actions, unit_seqs)
        AS one (campaign, unit, n, action, seq)
      ORDER BY campaign, unit, n;
  END IF;
  INSERT INTO foretell.events (seq, campaign, decision, body, checksum)
    SELECT first_seq + (number - 1) * 2048, campaign, decision, substr(bodies, start, length), checksum
      FROM unnest(campaigns, decisions, body_starts, body_lengths, checksums) WITH ORDINALITY
        AS one (campaign, decision, start, length, checksum, number);
  IF cardinality(link_seqs) > 0 THEN
    INSERT INTO foretell.links (stream, seq, number, link)
      SELECT own, * FROM unnest(link_seqs, link_numbers, link_values);
  END IF;
  IF cardinality(personal_seqs) > 0 THEN
    INSERT INTO foretell.personal (seq, campaign, unit, context, checksum)
      SELECT * FROM unnest(personal_seqs, personal_campaigns, personal_units, contexts,
                           personal_checksums);
  END IF;
  RETURN moved;
END $$;
