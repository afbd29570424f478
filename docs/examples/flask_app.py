"""A shop in Flask: its hero is a decision, a click is the signal, an order is the reward.

    pip install flask 'foretell[client]'
    export FORETELL_URL=http://localhost:8000 FORETELL_KEY=ftk_...   # scopes decide and feedback
    flask --app flask_app run

The decision's id goes to the browser and comes back with the click and the order; the key does not.
"""

from __future__ import annotations

from flask import Flask, Response, jsonify, request

import foretell


def create_app() -> Flask:
    """Make the application of one process: its threads share a client."""
    app = Flask(__name__)
    client = foretell.Client(fallback="editorial-pick", outbox="outbox.db")

    @app.get("/hero")
    def hero() -> Response:
        """Decide what to show: with a fallback this never fails."""
        decision = client.decide("home-hero", unit=request.args.get("visitor"))
        return jsonify(hero=decision.action, decision=decision.id)

    @app.post("/click")
    def click() -> tuple[str, int]:
        """Report the signal: it is in the outbox when this returns, and sent soon after."""
        decision = request.form["decision"]
        client.signal(decision, "click", event_id=f"click-{decision[-40:]}")
        return "", 204

    @app.post("/orders/<number>")
    def order(number: str) -> tuple[str, int]:
        """Report the reward; the same order counts once, however often it is sent."""
        amount = float(request.form["amount"])
        client.reward(request.form["decision"], amount, event_id=f"order-{number}")
        return "", 204

    return app
