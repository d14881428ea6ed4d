import { afterAll, beforeAll, expect, test } from "vitest";
import { type OwnApi, ownApi } from "./own-api.ts";

let api: OwnApi;

beforeAll(async () => {
  api = await ownApi();
  // Notes how many groups and tags each transaction has locked that makes schedules.
  await api.sql.unsafe(`
    create table labels_locked (locks int not null);
    create function note_labels() returns trigger language plpgsql security definer as $$
    begin
      insert into labels_locked
      select count(*) from pg_locks where locktype = 'advisory' and classid = 5 and pid = pg_backend_pid();
      return null;
    end $$;
    create trigger note_labels after insert on carillon.schedules execute function note_labels()`);
});

afterAll(() => api.stop());

/** Puts whose tags all differ. */
const puts = (name: string, count: number, tagsOfEach: number) =>
  Array.from({ length: count }, (_, n) => ({
    put: {
      key: `${name}:${n}`,
      when: "every 1h",
      target: { queue: "demo" },
      tags: Array.from({ length: tagsOfEach }, (__, t) => `${name}-${n}-${t}`),
    },
  }));

const schedulesOf = async (name: string) =>
  (await api.sql`select from carillon.schedules where starts_with(key, ${name})`).length;

test("A batch with 10,000 different tags is divided, so that no transaction has more than 500 locks of them", async () => {
  const answer = await api.send("POST", "/v1/schedules:batch", {
    body: { operations: puts("many", 200, 50) },
  });
  expect(answer.status).toBe(200);
  expect(await schedulesOf("many")).toBe(200);
  const [seen] = await api.sql<{ most: number; times: number }[]>`
    select max(locks) as most, count(*)::int as times from labels_locked`;
  expect(seen?.most).toBeLessThanOrEqual(500);
  expect(seen?.times).toBeGreaterThanOrEqual(20);
});

test("An all-or-nothing batch with more than 2,000 different tags is refused with the limit, and changes nothing", async () => {
  const body = { operations: puts("whole", 50, 50), atomic: true };
  const refused = await api.send("POST", "/v1/schedules:batch", { body });
  expect(refused.status).toBe(422);
  expect(refused.json).toMatchObject({
    detail: expect.stringContaining(
      "These operations have 2500 different groups and tags, and one transaction takes at most 2000.",
    ),
  });
  expect(await schedulesOf("whole")).toBe(0);
  const fewer = { operations: puts("whole", 40, 50), atomic: true };
  expect((await api.send("POST", "/v1/schedules:batch", { body: fewer })).status).toBe(200);
});

test("Where the server has no room for a lock, a request gets 503 with Retry-After and blames no row", async () => {
  await api.sql.unsafe(`
    create function no_room() returns trigger language plpgsql as $$
    begin
      raise exception 'out of shared memory' using errcode = '53200';
    end $$;
    create trigger no_room before insert on carillon.schedules execute function no_room()`);
  const batch = await api.send("POST", "/v1/schedules:batch", { body: { operations: puts("full", 4, 1) } });
  expect([batch.status, batch.headers["retry-after"]]).toEqual([503, "2"]);
  expect(batch.json).toMatchObject({
    detail: expect.stringContaining("too many locks or too little memory"),
  });
  await api.sql.unsafe("drop trigger no_room on carillon.schedules");
});
