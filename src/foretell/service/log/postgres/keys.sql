-- One table of keys, in place of eight partitions: a row takes less work, and digests spread
-- themselves over the pages of one index as well.
ALTER TABLE foretell.keys RENAME TO keys_before;
CREATE TABLE foretell.keys (
  campaign bigint NOT NULL,
  key bytea NOT NULL,
  seq bigint NOT NULL
);
INSERT INTO foretell.keys SELECT * FROM foretell.keys_before;
DROP TABLE foretell.keys_before;
ALTER TABLE foretell.keys ADD PRIMARY KEY (campaign, key);
