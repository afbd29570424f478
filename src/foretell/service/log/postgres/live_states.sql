-- Version 3: the newest state of a campaign, which one decider folds and the others take over. It is
-- written often and can always be folded again, so it is in no write-ahead log: after a crash of the
-- server, and on a standby that was promoted, the table is empty.
CREATE UNLOGGED TABLE foretell.live_states (
  campaign bigint NOT NULL,
  version text NOT NULL,
  position bigint NOT NULL,
  body bytea NOT NULL,
  digest bytea NOT NULL,
  PRIMARY KEY (campaign, version)
);
