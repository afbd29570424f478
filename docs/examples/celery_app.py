"""Rewards from a Celery worker: an order is booked at night, weeks after its decision.

    pip install celery 'foretell[client]'
    export FORETELL_URL=http://localhost:8000 FORETELL_KEY=ftk_...   # scope feedback
    celery --app celery_app worker

    report_order.delay(decision_id, "88231", 12.5)   # from anywhere

A task is done once the service has the reward, so that what Celery does about tasks that fail or
are lost holds for rewards too. The event's id is made from the order: a task that runs twice counts
once.
"""

from __future__ import annotations

import os
from typing import Any

from celery import Celery
from celery.signals import worker_process_init, worker_process_shutdown

import foretell
from foretell.client import ServiceUnavailable

app = Celery("shop", broker=os.environ.get("CELERY_BROKER_URL", "redis://localhost"))
app.conf.task_acks_late = True
clients: list[foretell.Client] = []


@worker_process_init.connect
def make_client(**_: Any) -> None:
    """Make a client after the fork: each process of a worker needs one of its own."""
    clients.append(foretell.Client())


@worker_process_shutdown.connect
def close_client(**_: Any) -> None:
    """Send what is left."""
    clients.pop().close()


@app.task(autoretry_for=(ServiceUnavailable,), retry_backoff=True, max_retries=None)
def report_order(decision: str, order: str, amount: float) -> None:
    """Report the reward of an order, and wait until the service has it."""
    (client,) = clients
    client.reward(decision, amount, event_id=f"order-{order}")
    if not client.flush(timeout=30):
        raise ServiceUnavailable("the service has not answered yet")
