import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hour, minute } from "../support/instants.ts";
import { type Issued, issueToken, withToken } from "./issued-token.ts";
import { type OwnApi, ownApi, type SendParts } from "./own-api.ts";

let api: OwnApi;

beforeAll(async () => {
  api = await ownApi({ API_RATE_PER_PREFIX: "50/h\nfree:=100000/h" });
  // A share is over by then, so that the function takes one unit for each request.
  api.betweenRequestsMs = 1_001;
});

afterAll(() => api.stop());

let made = 0;

/** A new token; each has a prefix of its own, whose rate is far above those of these tests. */
function issue(asked: object, by?: Issued): Promise<Issued> {
  made += 1;
  return issueToken(api, { name: `t${made}`, prefix: "free:", ...asked }, by);
}

const put = (n: number) => ({
  put: { key: `free:${made}:${n}`, when: "every 1h", target: { queue: "demo" } },
});
const puts = (count: number) => ({ operations: Array.from({ length: count }, (_, n) => put(n)) });

const batch = (by: Issued, count: number, parts: SendParts = {}) => {
  const own = withToken(by);
  return api.send("POST", "/v1/schedules:batch", {
    body: puts(count),
    ...parts,
    headers: { ...own.headers, ...parts.headers },
  });
};

const read = async (by: Issued) => (await api.send("GET", "/v1/schedules", withToken(by))).status;

/** The units left of the nearest rate of a token. The request costs one. */
async function left(by: Issued): Promise<number> {
  const { status, json } = await api.send("GET", "/v1/token", withToken(by));
  expect(status).toBe(200);
  return (json as { rate: { left: number } }).rate.left;
}

const schedulesOf = async (prefix: string) =>
  (await api.sql`select from carillon.schedules where starts_with(key, ${prefix})`).length;

describe("the cost of a request", () => {
  test("A batch of 1,000 costs 1,000, and the requests after it wait until the rate has paid for it", async () => {
    const token = await issue({ rate: "100/m" });
    const answer = await batch(token, 1_000);
    expect([answer.status, answer.headers["carillon-cost"]]).toEqual([200, "1000"]);
    const refused = await api.send("GET", "/v1/schedules", withToken(token));
    // It owes 900 units, and the request needs one: 901 units at 100 a minute, after a second.
    expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "540"]);
    expect((await batch(token, 1)).status).toBe(429);
    await api.clock.advance(536 * 1_000);
    expect(await read(token)).toBe(429);
    await api.clock.advance(2_000);
    expect(await read(token)).toBe(200);
  });

  test("Two batches at once that cost more than the rate has: one is done, and the other does nothing", async () => {
    const token = await issue({ rate: "100/h" });
    const prefix = `free:${made}:`;
    const operations = (name: string) => ({
      operations: puts(200).operations.map(({ put: one }) => ({
        put: { ...one, key: `${one.key}:${name}` },
      })),
    });
    const answers = await Promise.all(["a", "b"].map((name) => batch(token, 0, { body: operations(name) })));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 429]);
    expect(await schedulesOf(prefix)).toBe(200);
  });

  test("A request that is refused as invalid costs one unit, whatever it asks for", async () => {
    const token = await issue({ rate: "100/h" });
    const many = { operations: Array.from({ length: 1_001 }, (_, n) => put(n)) };
    expect((await batch(token, 0, { body: many })).status).toBe(400);
    expect(await left(token)).toBe(98);
  });

  test("A repeat that is answered from storage costs one unit", async () => {
    const token = await issue({ rate: "100/h" });
    const parts = { headers: { "idempotency-key": "once" } };
    expect((await batch(token, 50, parts)).headers["carillon-cost"]).toBe("50");
    const repeated = await batch(token, 50, parts);
    expect([repeated.headers["idempotent-replayed"], repeated.headers["carillon-cost"]]).toEqual([
      "true",
      "1",
    ]);
    expect(await left(token)).toBe(100 - 50 - 1 - 1);
  });

  test("A request with an Idempotency-Key that is refused for its cost is done when it is sent again", async () => {
    const token = await issue({ rate: "10/m" });
    const prefix = `free:${made}:`;
    const [one, other] = await Promise.all(
      ["x", "y"].map((key) => batch(token, 30, { headers: { "idempotency-key": key } })),
    );
    const refused = one?.status === 429 ? "x" : "y";
    expect([one?.status, other?.status].toSorted()).toEqual([200, 429]);
    await api.clock.advance(10 * minute);
    const again = await batch(token, 30, { headers: { "idempotency-key": refused } });
    expect([again.status, again.headers["idempotent-replayed"]]).toEqual([200, undefined]);
    expect(await schedulesOf(prefix)).toBe(30);
  });

  test("A bulk action costs the schedules that match, and gives back what it took for others", async () => {
    const token = await issue({ rate: "100/h" });
    await batch(token, 20);
    const body = { filter: { prefix: `free:${made}:` } };
    const paused = await api.send("POST", "/v1/schedules:pause", { ...withToken(token), body });
    expect([paused.status, paused.headers["carillon-cost"]]).toEqual([200, "20"]);
    expect(await left(token)).toBe(100 - 20 - 20 - 1);
    const keys = Array.from({ length: 7 }, (_, n) => `free:${made}:${n}`);
    const deleted = await api.send("POST", "/v1/schedules:delete", { ...withToken(token), body: { keys } });
    expect(deleted.headers["carillon-cost"]).toBe("7");
    const dryRun = await api.send("POST", "/v1/schedules:pause", {
      ...withToken(token),
      body: { ...body, dryRun: true },
    });
    expect(dryRun.headers["carillon-cost"]).toBe("10");
  });

  test("A bulk action that is refused gives back what it took", async () => {
    const token = await issue({ rate: "100/h" });
    const range = { from: "2020-01-01T00:00:00Z", to: "2020-01-02T00:00:00Z", limit: 90 };
    const answer = await api.send("POST", "/v1/schedules/free:none/backfill", {
      ...withToken(token),
      body: range,
    });
    expect(answer.status).toBe(404);
    expect(await left(token)).toBe(98);
  });

  test("An action on a group costs its members", async () => {
    const token = await issue({ rate: "100/h" });
    const group = `free:g${made}`;
    const operations = [0, 1, 2].map((n) => ({ put: { ...put(n).put, group } }));
    await batch(token, 0, { body: { operations } });
    const held = await api.send("POST", `/v1/groups/${group}/pause`, withToken(token));
    expect([held.status, held.headers["carillon-cost"]]).toEqual([200, "3"]);
    expect(await left(token)).toBe(100 - 3 - 3 - 1);
  });

  test("A costly read costs more than a cheap one", async () => {
    const token = await issue({ rate: "100/h" });
    const stats = await api.send("GET", "/v1/stats", withToken(token));
    expect(stats.headers["carillon-cost"]).toBe("10");
    const preview = await api.send("POST", "/v1/preview", {
      ...withToken(token),
      body: { when: "every 1m", n: 250 },
    });
    expect(preview.headers["carillon-cost"]).toBe("3");
    expect(await left(token)).toBe(100 - 10 - 3 - 1);
  });
});

describe("tokens that share a rate", () => {
  test("A hundred tokens that one made have its rate together, at any number of levels", async () => {
    const parent = await issue({ rate: "150/h" });
    const tokens: Issued[] = [];
    for (let n = 0; n < 50; n++) tokens.push(await issue({}, parent));
    for (let n = 0; n < 50; n++) tokens.push(await issue({ rate: "140/h" }, tokens[n]));
    // Making them cost 100 of the 150 units, and a few have come back meanwhile.
    let admitted = 0;
    for (const token of tokens) if ((await read(token)) === 200) admitted += 1;
    expect(admitted).toBeGreaterThanOrEqual(50);
    expect(admitted).toBeLessThan(65);
    expect(await read(parent)).toBe(429);
  });

  test("A token with a lower rate of its own is held to it, and takes from its maker's", async () => {
    const parent = await issue({ rate: "100/h" });
    const child = await issue({ rate: "3/h" }, parent);
    expect([await read(child), await read(child), await read(child), await read(child)]).toEqual([
      200, 200, 200, 429,
    ]);
    expect(await left(parent)).toBe(100 - 1 - 3 - 1);
  });

  test("Deleting a token does not free those that it made from its rate", async () => {
    const parent = await issue({ rate: "10/h" });
    const children: Issued[] = [];
    for (const asked of [{}, { rate: "9/h" }, {}]) children.push(await issue(asked, parent));
    expect((await api.send("DELETE", `/v1/tokens/${parent.id}`)).status).toBe(204);
    let admitted = 0;
    for (let n = 0; n < 6; n++) for (const child of children) if ((await read(child)) === 200) admitted += 1;
    expect(admitted).toBe(7);
  });

  test("An admin of all keys without a rate passes no bucket on", async () => {
    const operator = await issue({ prefix: null });
    const [one, two] = [await issue({ rate: "1/h" }, operator), await issue({ rate: "1/h" }, operator)];
    expect([await read(one), await read(two), await read(one)]).toEqual([200, 200, 429]);
    const { json } = await api.send("GET", "/v1/token", withToken(operator));
    expect(json).toMatchObject({ rate: null });
  });

  test("Rates lie within each other up to a depth, beyond which a token shares its maker's", async () => {
    const chain = [await issue({ rate: "1000/h" })];
    for (let depth = 1; depth < 8; depth++)
      chain.push(await issue({ rate: `${1_000 - depth}/h` }, chain.at(-1)));
    const deepest = chain.at(-1);
    const refused = await api.send("POST", "/v1/tokens", {
      ...withToken(deepest),
      body: { name: "deeper", scope: "read", rate: "10/h" },
    });
    expect([refused.status, refused.json]).toMatchObject([422, { errors: [{ path: "rate" }] }]);
    const sharing = await issue({}, deepest);
    expect(await read(sharing)).toBe(200);
    const { json } = await api.send("GET", "/v1/token", withToken(sharing));
    expect(json).toMatchObject({ rate: { of: "maker" } });
  });

  test("The tokens of one prefix share its rate, and those of another prefix have their own", async () => {
    const [one, two] = [await issue({ prefix: "shared:" }), await issue({ prefix: "shared:" })];
    const deeper = await issue({ prefix: "shared:deeper:" }, one);
    const other = await issue({ prefix: "other:" });
    const statuses: number[] = [];
    for (let n = 0; n < 20; n++) statuses.push(await read(one), await read(two), await read(deeper));
    const admitted = statuses.filter((status) => status === 200).length;
    expect(admitted).toBeGreaterThanOrEqual(49);
    expect(admitted).toBeLessThanOrEqual(51);
    const refused = await api.send("GET", "/v1/schedules", withToken(deeper));
    expect(refused.json).toMatchObject({
      detail: expect.stringContaining("of all tokens of the same prefix"),
    });
    expect(await read(other)).toBe(200);
    await api.clock.advance(hour);
    expect((await api.send("GET", "/v1/token", withToken(two))).json).toMatchObject({
      rate: { of: "prefix", limit: "50/h", left: 49 },
    });
  });
});
