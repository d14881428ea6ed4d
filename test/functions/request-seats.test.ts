import { expect, onTestFinished, test } from "vitest";
import { assemble } from "../../functions/api.ts";
import type { Environment } from "../../lib/config/environment.ts";
import type { Tx } from "../../lib/db/connect.ts";
import { type EventParts, httpEvent, invocation } from "../api/http-event.ts";
import { until } from "../support/until.ts";
import { waitingLocks } from "../support/waiting-locks.ts";
import { apiEnvironment } from "./api-environment.ts";
import { create, migrationFunction } from "./migration-function.ts";

const own = migrationFunction();
const secrets = { first: "the-first-token" };
const sentMax = 10;

interface Sent extends EventParts {
  by: string;
}

/** An API whose role may have six connections. Each request of `send` has a function of its own, as in AWS. */
async function smallApi(settings: Environment = {}) {
  await own.invoke(create("first"), secrets);
  await own.sql.unsafe(`alter role carillon_api login password 'own' connection limit 6`);
  const url = Object.assign(new URL(own.databaseUrl), { username: "carillon_api", password: "own" }).href;
  const apis = Array.from({ length: sentMax }, () =>
    assemble({ ...apiEnvironment, DATABASE_URL: url, ...settings }),
  );
  onTestFinished(async () => {
    for (const { close } of apis) await close();
  });
  const free = [...apis];
  const send = async (method: string, path: string, { by, ...parts }: Sent) => {
    const api = free.pop();
    if (api === undefined) throw new Error(`More than ${sentMax} requests are under way.`);
    const headers = { authorization: `Bearer ${by}`, ...parts.headers };
    const answer = await api.handler(httpEvent(method, path, { ...parts, headers }), invocation);
    free.push(api);
    return { ...answer, json: answer.body === "" ? undefined : JSON.parse(answer.body) };
  };
  const tokenOf = async (prefix: string) => {
    const made = await send("POST", "/v1/tokens", {
      by: secrets.first,
      body: { name: "team", scope: "write", prefix },
    });
    return (made.json as { token: string }).token;
  };
  return { send, evil: await tokenOf("evil:"), good: await tokenOf("good:") };
}

type Api = Awaited<ReturnType<typeof smallApi>>;

const body = { when: "every 1h", target: { queue: "demo" } };

/** Edits of one schedule that wait, since another transaction has locked its row. */
async function waitingEdits({ send, evil }: Api, count: number, meanwhile: () => Promise<void>) {
  expect((await send("PUT", "/v1/schedules/evil:one", { by: evil, body })).statusCode).toBe(201);
  const waiting = await own.sql.begin(async (tx: Tx) => {
    await tx`select from carillon.schedules where key = 'evil:one' for update`;
    const sent = Array.from({ length: count }, (_, payload) =>
      send("PATCH", "/v1/schedules/evil:one", { by: evil, body: { payload } }),
    );
    await until("the edits wait", async () => (await waitingLocks(own.sql)) === count);
    await meanwhile();
    return sent;
  });
  return Promise.all(waiting);
}

test("Edits of one team that wait for each other leave half of the API's connections to other teams", async () => {
  const api = await smallApi();
  const { send, evil, good } = api;
  const answers = await waitingEdits(api, 3, async () => {
    const refused = await send("PATCH", "/v1/schedules/evil:one", { by: evil, body: { payload: 4 } });
    expect([refused.statusCode, refused.headers["retry-after"]]).toEqual([429, "1"]);
    expect(refused.json).toMatchObject({ type: "urn:carillon:problem:too-many", title: "Too many requests" });
    expect(refused.json.detail).toContain("Other requests with the same prefix");
    expect((await send("PUT", "/v1/schedules/good:one", { by: good, body })).statusCode).toBe(201);
    expect((await send("PUT", "/v1/schedules/one", { by: secrets.first, body })).statusCode).toBe(201);
  });
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200]);
  expect((await send("PATCH", "/v1/schedules/evil:one", { by: evil, body })).statusCode).toBe(200);
});

test("A batch that finds no seat gives its units back to the rate", async () => {
  const api = await smallApi({ API_REQUESTS_PER_PREFIX: "1", API_RATE_PER_PREFIX: "1000/h" });
  const { send, evil } = api;
  const left = async () => (await send("GET", "/v1/token", { by: evil })).json.rate.left as number;
  const operations = Array.from({ length: 500 }, (_, n) => ({ put: { key: `evil:${n}`, ...body } }));
  await waitingEdits(api, 1, async () => {
    const before = await left();
    for (let batch = 0; batch < 3; batch++)
      expect((await send("POST", "/v1/schedules:batch", { by: evil, body: { operations } })).statusCode).toBe(
        429,
      );
    // The batches, and the read of the rate: the unit that admits a request stays taken.
    expect(before - (await left())).toBeLessThan(20);
  });
});

test("A count, a batch and an action by filter of a team without a free seat get 429 and change nothing", async () => {
  const api = await smallApi({ API_REQUESTS_PER_PREFIX: "1" });
  const { send, evil, good } = api;
  await waitingEdits(api, 1, async () => {
    const operations = [{ put: { key: "evil:two", ...body } }];
    const filter = { prefix: "evil:" };
    for (const [method, path, more] of [
      ["GET", "/v1/schedules:count", {}],
      ["POST", "/v1/schedules:batch", { body: { operations } }],
      ["POST", "/v1/schedules:batch", { body: { operations }, headers: { "idempotency-key": "one" } }],
      ["POST", "/v1/schedules:pause", { body: { filter } }],
      ["POST", "/v1/schedules:delete", { body: { filter } }],
    ] as const)
      expect([path, (await send(method, path, { by: evil, ...more })).statusCode]).toEqual([path, 429]);
    expect((await send("GET", "/v1/schedules:count", { by: good })).statusCode).toBe(200);
  });
  const { json } = await send("GET", "/v1/schedules", { by: evil });
  expect(json.items).toMatchObject([{ key: "evil:one", state: "active" }]);
  const operations = [{ put: { key: "evil:two", ...body } }];
  const again = { by: evil, body: { operations }, headers: { "idempotency-key": "one" } };
  expect((await send("POST", "/v1/schedules:batch", again)).statusCode).toBe(200);
});
