"""Pages for a browser: one look, no network."""
