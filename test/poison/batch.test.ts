import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type OwnApi, ownApi } from "../api/own-api.ts";

let api: OwnApi;

beforeAll(async () => {
  api = await ownApi();
  // The login of this test lacks the statement timeout of the API's role in production. It is set
  // on the database instead, for the connections to come.
  const [{ name } = { name: "" }] = await api.sql<{ name: string }[]>`select current_database() as name`;
  await api.sql.unsafe(`alter database ${name} set statement_timeout = '1500ms'`);
  await api.sql.unsafe(`
    create function carillon.break_keys() returns trigger language plpgsql as $$
    begin
      if new.key like 'hang%' then perform pg_advisory_xact_lock(77, 77); end if;
      raise exception 'secret-%', new.key;
    end $$`);
});

beforeEach(async () => {
  await api.sql`
    create or replace trigger break_keys before insert on carillon.schedules for each row when (new.key like 'bad%' or new.key like 'hang%')
      execute function carillon.break_keys()`;
});

afterAll(() => api.stop());

const mend = () => api.sql`drop trigger break_keys on carillon.schedules`;

interface Result {
  status: number;
  key: string | null;
  version?: number;
  job?: string;
  retryAfter?: number;
  error?: { type: string; requestId?: string };
}

const put = (key: string, more: object = {}) => ({
  put: { key, when: "every 1h", target: { queue: "demo" }, ...more },
});

async function send(operations: readonly object[], { atomic = false, key = "" } = {}) {
  const answer = await api.send("POST", "/v1/schedules:batch", {
    body: { operations, atomic },
    headers: key === "" ? {} : { "idempotency-key": key },
  });
  const { results = [] } = answer.json as { results?: Result[] };
  return { ...answer, results, statuses: results.map(({ status }) => status) };
}

const standing = async (prefix: string) => {
  const rows = await api.sql<{ key: string }[]>`
    select key from carillon.schedules where starts_with(key, ${prefix}) and deleted_at is null order by key`;
  return rows.map(({ key }) => key);
};

test("An operation of a batch that fails inside Carillon is answered 500 with the request's id, and the others are done", async () => {
  const operations = Array.from({ length: 40 }, (_, n) => put(n === 17 ? "bad:1" : `near:${n}`));
  const { status, results, statuses, body } = await send(operations);
  expect(status).toBe(200);
  expect(statuses).toEqual(operations.map((_, n) => (n === 17 ? 500 : 201)));
  expect(results[17]).toMatchObject({
    key: "bad:1",
    error: { type: "urn:carillon:problem:internal", requestId: "request-1" },
  });
  expect(results[17]).not.toHaveProperty("retryAfter");
  expect(body).not.toContain("secret");
  expect(await standing("near:")).toHaveLength(39);
});

test("An operation of a batch that waits for a lock is answered 503 with the seconds to wait, and the others are done", async () => {
  await api.sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(77, 77)`;
    const { results, statuses } = await send([put("free:1"), put("hang:1"), put("free:2")]);
    expect(statuses).toEqual([201, 503, 201]);
    expect(results[1]).toMatchObject({
      key: "hang:1",
      retryAfter: 2,
      error: { type: "urn:carillon:problem:unavailable", requestId: "request-1" },
    });
  });
  expect(await standing("free:")).toEqual(["free:1", "free:2"]);
});

test("A batch leaves a schedule with a locked row unchanged, and edits the others", async () => {
  await send([put("row:1"), put("row:2"), put("row:3")]);
  const patches = ["row:1", "row:2", "row:3"].map((key) => ({ patch: { key, payload: 1 } }));
  await api.sql.begin(async (tx) => {
    await tx`select from carillon.schedules where key = 'row:2' for update`;
    expect((await send(patches)).statuses).toEqual([200, 503, 200]);
  });
  expect((await send(patches)).results.map(({ version }) => version)).toEqual([2, 2, 2]);
});

test("Operations after a failed one on the same key are not tried, so that the order of a key is kept", async () => {
  const { statuses, results } = await send([
    put("bad:2"),
    put("apart:1"),
    { delete: "bad:2" },
    { pause: "apart:1" },
    put("bad:2", { payload: 2 }),
  ]);
  expect(statuses).toEqual([500, 201, 503, 200, 503]);
  expect(results[2]).toMatchObject({ key: "bad:2", retryAfter: 2 });
});

test("An atomic batch that fails inside Carillon fails as a whole, and none of it is done", async () => {
  const { status } = await send([put("whole:1"), put("bad:3"), put("whole:2")], { atomic: true });
  expect(status).toBe(500);
  expect(await standing("whole:")).toEqual([]);
});

test("After twenty operations that fail alone, the rest of a batch is not tried and is answered 503", async () => {
  const { statuses } = await send([
    put("first:1"),
    ...Array.from({ length: 30 }, (_, n) => put(`bad:many:${n}`)),
  ]);
  expect(statuses).toEqual([201, ...Array(20).fill(500), ...Array(10).fill(503)]);
});

test("A batch that is sent again with its Idempotency-Key retries the failed operations, and does nothing twice", async () => {
  const operations = [
    { job: { target: { queue: "demo" }, payload: 1 } },
    put("again:1", { when: "in 3h" }),
    put("bad:4"),
    put("again:2"),
    { delete: "bad:4" },
    put("hang:2"),
  ];
  const first = await send(operations, { key: "again" });
  expect(first.statuses).toEqual([202, 201, 500, 201, 503, 500]);
  const second = await send(operations, { key: "again" });
  expect(second.results).toEqual(first.results);
  await mend();
  const third = await send(operations, { key: "again" });
  expect(third.statuses).toEqual([202, 201, 201, 201, 204, 201]);
  for (const n of [0, 1, 3]) expect(third.results[n]).toEqual(first.results[n]);
  expect(third.headers).not.toHaveProperty("idempotent-replayed");
  const fourth = await send(operations, { key: "again" });
  expect(fourth.headers).toHaveProperty("idempotent-replayed", "true");
  expect(fourth.results).toEqual(third.results);
  const [{ versions } = { versions: 0 }] = await api.sql<{ versions: number }[]>`
    select count(*)::int as versions from carillon.schedule_versions v join carillon.schedules s on s.id = v.schedule_id
    where s.key like 'again:%' or s.key like 'job:%'`;
  expect(versions).toBe(3);
});

test("The answer to a batch that keeps failing is final after ten attempts with its Idempotency-Key", async () => {
  const operations = [put("kept:1"), put("bad:5")];
  const tries = [];
  for (let n = 0; n < 11; n += 1) tries.push(await send(operations, { key: "kept" }));
  expect(tries.map(({ statuses }) => statuses)).toEqual(Array(11).fill([201, 500]));
  const replayed = tries.map(({ headers }) => headers["idempotent-replayed"] === "true");
  expect(replayed).toEqual([...Array(10).fill(false), true]);
});
