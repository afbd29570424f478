// The server of a shop: what the browser asks for, it asks foretell for.

import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { Decisions, Refused } from "./decisions.js";

const { FORETELL_URL = "http://localhost:8000", FORETELL_KEY = "", PORT = "3000" } = process.env;
const decisions = new Decisions(FORETELL_URL, FORETELL_KEY, "home-hero", "editorial-pick");

async function body<Kind>(request: IncomingMessage): Promise<Kind> {
  let text = "";
  for await (const part of request) text += part;
  return JSON.parse(text) as Kind;
}

async function answer(request: IncomingMessage): Promise<unknown> {
  const url = new URL(request.url ?? "/", "http://shop");
  switch (`${request.method} ${url.pathname}`) {
    case "GET /hero":
      return decisions.hero(url.searchParams.get("visitor") ?? "nobody");
    case "POST /click":
      return decisions.clicked((await body<{ decision: string }>(request)).decision);
    case "POST /orders":
      return decisions.ordered(await body(request));
    case "GET /shares":
      return decisions.shares();
    default:
      return undefined;
  }
}

const server = createServer((request, response) => {
  const reply = (status: number, value: unknown) => {
    response.writeHead(status, { "Content-Type": "application/json" });
    response.end(JSON.stringify(value));
  };
  answer(request).then(
    (value) => (value === undefined ? reply(404, { detail: "not here" }) : reply(200, value)),
    (error: unknown) => {
      if (error instanceof Refused) return reply(422, { detail: error.message });
      console.error(error);
      return reply(500, { detail: "this failed" });
    },
  );
});

server.listen(Number(PORT), "127.0.0.1", () => {
  console.log(`the shop is at http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.once("SIGTERM", () => server.close(() => process.exit(0)));
