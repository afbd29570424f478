"""The live service: decisions over HTTP, and a log that is the truth.

A newcomer reads `model/campaign.py` (what is delivered to the policy, and when),
`log/sqlite/log.py` (how a record becomes durable) and `engine/decisions.py` (how a request becomes
a record).
"""
