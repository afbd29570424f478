"""What runs live: a decision service whose log is the truth.

A newcomer reads `events` (what is written), `ledger` (what one decision stands at), `campaign`
(what the policy is told, and when) and `engine` (how a request becomes a line of the log).
"""
