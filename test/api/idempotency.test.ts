import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type OwnApi, ownApi } from "./own-api.ts";

let api: OwnApi;

beforeAll(async () => {
  api = await ownApi();
});

afterAll(() => api.stop());

const body = { when: "every 1h", target: { queue: "demo" }, payload: { card: "4111" } };
let keys = 0;
const fresh = () => `key-${++keys}`;

function post(key: string, parts: object = {}) {
  return api.send("POST", "/v1/schedules", { body, headers: { "idempotency-key": key }, ...parts });
}

async function schedules(): Promise<number> {
  const [row] = await api.sql<{ count: number }[]>`select count(*)::int as count from carillon.schedules`;
  return row?.count ?? 0;
}

describe("a request with an Idempotency-Key", () => {
  test("A repeated request gets the stored answer and does nothing more", async () => {
    const before = await schedules();
    const key = fresh();
    const first = await post(key);
    const second = await post(key);
    expect(first.status).toBe(201);
    expect(second).toEqual({ ...first, headers: { ...first.headers, "idempotent-replayed": "true" } });
    expect(second.headers).toMatchObject({
      location: expect.stringContaining("/v1/schedules/"),
      etag: '"1"',
    });
    expect(await schedules()).toBe(before + 1);
  });

  test("Without an Idempotency-Key, each request is carried out", async () => {
    const before = await schedules();
    for (let sent = 0; sent < 2; sent++) await api.send("POST", "/v1/schedules", { body });
    expect(await schedules()).toBe(before + 2);
  });

  test("An answer is stored for a day; then the key is free", async () => {
    const before = await schedules();
    const key = fresh();
    await post(key);
    await age(key, "23 hours 59 minutes");
    expect((await post(key)).headers["idempotent-replayed"]).toBe("true");
    await age(key, "1 minute");
    expect((await post(key)).headers["idempotent-replayed"]).toBeUndefined();
    expect(await schedules()).toBe(before + 2);
  });

  test("A tick deletes answers after a day", async () => {
    const [old, young] = [fresh(), fresh()];
    for (const key of [old, young]) await post(key);
    await age(old, "25 hours");
    await api.tick();
    const left = await api.sql<{ key: string }[]>`
      select key from carillon.idempotency where key = any(${[old, young]}::text[])`;
    expect(left).toEqual([{ key: young }]);
  });

  test.each([
    ["another body", { body: { ...body, payload: 2 } }],
    ["another query", { query: "a=b" }],
    ["a precondition", { headers: { "if-match": '"1"' } }],
  ])(
    "A repeated key with %s is refused with 422 and does nothing",
    async (_what, {
      headers = {},
      ...parts
    }: {
      headers?: Record<string, string>;
      body?: object;
      query?: string;
    }) => {
      const key = fresh();
      await post(key);
      const before = await schedules();
      const other = await post(key, { ...parts, headers: { "idempotency-key": key, ...headers } });
      expect(other).toMatchObject({
        status: 422,
        json: { detail: expect.stringContaining("another request") },
      });
      expect(await schedules()).toBe(before);
      expect((await post(key)).status).toBe(201);
    },
  );

  test("A repeated key with another path or method is refused", async () => {
    const key = fresh();
    const headers = { "idempotency-key": key };
    await api.send("PUT", "/v1/schedules/by-path", { body, headers });
    expect((await api.send("PUT", "/v1/schedules/by-path-2", { body, headers })).status).toBe(422);
    expect((await api.send("PATCH", "/v1/schedules/by-path", { body, headers })).status).toBe(422);
  });

  test("Two tokens may use the same Idempotency-Key for different requests", async () => {
    const key = fresh();
    const before = await schedules();
    expect((await post(key)).status).toBe(201);
    expect((await post(key, { as: "write" })).status).toBe(201);
    expect(await schedules()).toBe(before + 2);
  });

  test("A repeated request is refused while the first is running, with the time to wait", async () => {
    const key = fresh();
    const [first, second] = await Promise.all([post(key), post(key)]);
    const [done, waits] = first.status === 201 ? [first, second] : [second, first];
    expect(done.status).toBe(201);
    // If the first request has finished already, its answer is returned.
    if (waits.status !== 201) {
      expect(waits).toMatchObject({ status: 409, json: { detail: expect.stringContaining("under way") } });
      expect(Number(waits.headers["retry-after"])).toBeGreaterThanOrEqual(1);
    }
    expect((await post(key)).json).toEqual(done.json);
  });
});

describe("stored answers", () => {
  test.each([
    [404, "DELETE", "/v1/schedules/nobody", undefined, {}],
    [409, "POST", "/v1/schedules", { ...body, key: "taken" }, {}],
    [412, "PUT", "/v1/schedules/taken", body, { "if-none-match": "*" }],
    [422, "PUT", "/v1/schedules/taken", { ...body, target: { handler: "nobody" } }, {}],
  ])("An answer with status %i is stored", async (status, method, path, sent, more) => {
    await api.send("PUT", "/v1/schedules/taken", { body });
    const headers = { "idempotency-key": fresh(), ...more };
    const parts = { headers, ...(sent === undefined ? {} : { body: sent }) };
    const first = await api.send(method, path, parts);
    expect(first.status).toBe(status);
    if (status === 404) await api.send("PUT", path, { body });
    if (status === 409 || status === 412) await api.send("DELETE", "/v1/schedules/taken");
    const second = await api.send(method, path, parts);
    expect(second).toMatchObject({ status, body: first.body, headers: { "idempotent-replayed": "true" } });
  });

  test("An invalid or forbidden request is not stored; once corrected, it is carried out under the same key", async () => {
    const key = fresh();
    expect((await post(key, { body: { when: "every 1h" } })).status).toBe(400);
    expect(
      (await post(key, { headers: { "idempotency-key": key, "content-type": "text/plain" } })).status,
    ).toBe(415);
    expect((await post(key)).status).toBe(201);
    const forbidden = fresh();
    expect((await post(forbidden, { as: "read" })).status).toBe(403);
    const [row] = await api.sql`select from carillon.idempotency where key = ${forbidden}`;
    expect(row).toBeUndefined();
  });

  test("A stored answer can be read only with the secret of its token", async () => {
    const key = fresh();
    await post(key);
    const [row] = await api.sql<
      { answer: Buffer }[]
    >`select answer from carillon.idempotency where key = ${key}`;
    expect(row?.answer.includes("4111")).toBe(false);
    expect(row?.answer.includes("every")).toBe(false);
  });
});

test.each(["", " ".repeat(256), "a\tb", "ключ"])("An Idempotency-Key such as %j is refused", async (key) => {
  const { status, json } = await post(key);
  expect(status).toBe(400);
  expect(json).toMatchObject({ errors: [{ path: "Idempotency-Key" }] });
});

test("Reading ignores the Idempotency-Key header", async () => {
  const headers = { "idempotency-key": "ключ" };
  expect((await api.send("GET", "/v1/schedules", { headers })).status).toBe(200);
});

async function age(key: string, by: string): Promise<void> {
  await api.sql`
    update carillon.idempotency set created_at = created_at - ${by}::interval, claimed_until = claimed_until - ${by}::interval where key = ${key}`;
}
