"""Reports: what a campaign has come to, for people and for the dashboard."""
