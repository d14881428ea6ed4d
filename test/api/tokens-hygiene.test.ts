import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { inputDepthMax } from "../../lib/command/json-depth.ts";
import { type OwnApi, ownApi } from "./own-api.ts";

let api: OwnApi;

beforeAll(async () => {
  api = await ownApi();
});

afterAll(() => api.stop());

const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;

test.each([
  ["a batch", "POST", "/v1/schedules:batch"],
  ["a token", "POST", "/v1/tokens"],
  ["a schedule", "PUT", "/v1/schedules/deep"],
  ["a preview", "POST", "/v1/preview"],
])("%s with too deep nesting is refused before it is read", async (_, method, path) => {
  for (const depth of [inputDepthMax + 1, 100_000]) {
    const { status, json } = await api.send(method, path, { body: nested(depth) });
    expect([status, json]).toMatchObject([400, { detail: expect.stringContaining("nested more than") }]);
  }
  const { json } = await api.send(method, path, { body: nested(inputDepthMax) });
  expect(json).not.toMatchObject({ detail: expect.stringContaining("nested more than") });
});

test("Brackets within strings do not count as nesting", async () => {
  const payload = `"}]${"[{".repeat(500)}\\`;
  const body = { when: "every 1h", target: { queue: "demo" }, payload };
  expect((await api.send("PUT", "/v1/schedules/brackets", { body })).status).toBe(201);
});

test("A body with too many values is refused before it is validated", async () => {
  const { status, json } = await api.send("POST", "/v1/preview", {
    as: "read",
    body: `{"when":"every 1h","payload":[${"{},".repeat(300_000)}0]}`,
  });
  expect([status, json]).toMatchObject([413, { detail: expect.stringContaining("200000 values") }]);
});

test("A compressed body gets another refusal than one that is not JSON", async () => {
  const body = { when: "every 1h", target: { queue: "demo" } };
  const sent = { body, headers: { "content-encoding": "gzip" } };
  const { status, json } = await api.send("PUT", "/v1/schedules/packed", sent);
  expect([status, json]).toMatchObject([415, { detail: expect.stringContaining('"gzip"') }]);
});

const oddText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.constantFrom(
    "\u0000",
    "a\u0000b",
    "\ud800",
    "\udfff\ud800",
    "\uffff",
    "\r\n",
    "\u202e",
    "é",
    "x".repeat(400),
  ),
);

test("Odd text in a body, a path, a query or a header is never a server error, and is never stored", async () => {
  const posts: [string, (text: string) => unknown][] = [
    ["/v1/tokens", (name) => ({ name, scope: "read" })],
    ["/v1/tokens", (prefix) => ({ name: "odd", scope: "read", prefix })],
    ["/v1/tokens", (rate) => ({ name: "odd", scope: "read", rate })],
    ["/v1/groups/odd/pause", (reason) => ({ reason })],
    ["/v1/groups/odd/pause", (owner) => ({ owner })],
    ["/v1/jobs:cancel", (prefix) => ({ filter: { prefix } })],
    ["/v1/jobs:retry", (reason) => ({ filter: { reason }, reason })],
  ];
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...posts), oddText, async ([path, body], text) => {
      const { status } = await api.send("POST", path, { body: body(text) });
      expect(status).toBeLessThan(500);
    }),
    { numRuns: 60 },
  );
  const names = ["subject", "prefix", "actor", "action", "from", "cursor"];
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...names), oddText, async (name, text) => {
      const query = `${name}=${encodeURIComponent(text.toWellFormed())}`;
      expect((await api.send("GET", "/v1/audit", { query })).status).toBeLessThan(500);
      const path = `/v1/tokens/${text.replaceAll("/", "")}`;
      expect((await api.send("GET", path)).status).toBeLessThan(500);
    }),
    { numRuns: 60 },
  );
  const headers = [
    "authorization",
    "if-match",
    "if-none-match",
    "idempotency-key",
    "content-type",
    "content-encoding",
    "user-agent",
  ];
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...headers), oddText, async (name, text) => {
      const body = { when: "every 1h", target: { queue: "demo" } };
      const odd = { body, headers: { [name]: text }, agent: text };
      expect((await api.send("PUT", "/v1/schedules/odd", odd)).status).toBeLessThan(500);
    }),
    { numRuns: 60 },
  );
});
