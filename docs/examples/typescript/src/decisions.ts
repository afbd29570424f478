// What the shop asks of foretell. The key stays on this server: a browser never sees it.

import createClient from "openapi-fetch";
import type { components, paths } from "./foretell.js";

export type Receipt = components["schemas"]["Receipt"];
type FeedbackItem = components["schemas"]["FeedbackItem"];

export type Hero = { action: string; decision: string | null };

/** The service said no; the sentence is for people. */
export class Refused extends Error {}

export class Decisions {
  readonly #api;
  readonly #campaign: string;
  readonly #fallback: string;

  constructor(url: string, key: string, campaign: string, fallback: string) {
    this.#api = createClient<paths>({
      baseUrl: url,
      headers: { Authorization: `Bearer ${key}` },
    });
    this.#campaign = campaign;
    this.#fallback = fallback;
  }

  /** Return what to show: never late, and never an error. */
  async hero(visitor: string): Promise<Hero> {
    try {
      const { data, error } = await this.#api.POST("/v1/campaigns/{campaign}/decisions", {
        params: { path: { campaign: this.#campaign } },
        body: { unit: visitor },
        signal: AbortSignal.timeout(1000),
      });
      if (data) return { action: data.action, decision: data.decision_id };
      console.error("foretell refused:", error.detail);
    } catch (error) {
      console.error("foretell did not answer:", error);
    }
    return { action: this.#fallback, decision: null };
  }

  /** Report a click. The id is made from the decision, so that sending it twice counts once. */
  async clicked(decision: string): Promise<Receipt> {
    const { data, error } = await this.#api.POST("/v1/decisions/{decision}/signal", {
      params: { path: { decision } },
      body: { signal: "click", event_id: `click-${decision.slice(-40)}` },
    });
    if (error) throw new Refused(error.detail);
    return data;
  }

  /** Report orders, each a reward of the decision that led to it, however long ago. */
  async ordered(orders: { decision: string; order: string; amount: number }[]): Promise<Receipt[]> {
    const events: FeedbackItem[] = orders.map(({ decision, order, amount }) => ({
      decision_id: decision,
      event_id: `order-${order}`,
      value: amount,
    }));
    const { data, error } = await this.#api.POST("/v1/events/batch", { body: { events } });
    if (error) throw new Refused(error.detail);
    return data.results;
  }

  /** Return how often each action was chosen. */
  async shares(): Promise<Record<string, number>> {
    const { data, error } = await this.#api.GET("/v1/campaigns/{campaign}/report", {
      params: { path: { campaign: this.#campaign } },
    });
    if (error) throw new Refused(error.detail);
    return Object.fromEntries(data.actions.map((one) => [one.action, one.decisions]));
  }
}
