import { afterEach, beforeEach, expect, test } from "vitest";
import { type OwnApi, ownApi } from "./own-api.ts";

let api: OwnApi;

beforeEach(async () => {
  api = await ownApi();
});

afterEach(() => api.stop());

const body = { when: "every 1h", target: { queue: "demo" } };
const filler = "pay\u3164roll";
const apart = "u\u0308ber";
const put = (key: string, more: object = {}) =>
  api.send("PUT", `/v1/schedules/${encodeURIComponent(key)}`, { body: { ...body, ...more } });

const hidden = "may hold printable characters only, not U+3164";
const composed = "must be in the composed form of Unicode (NFC)";

test.each([
  { in: "the key of a schedule", call: (name: string) => put(name) },
  { in: "a group", call: (name: string) => put("a", { group: name }) },
  { in: "a tag", call: (name: string) => put("a", { tags: [name] }) },
  {
    in: "the name of a calendar",
    call: (name: string) =>
      api.send("PUT", `/v1/calendars/${encodeURIComponent(name)}`, { body: { dates: ["12-25"] } }),
  },
  {
    in: "the name of a token",
    call: (name: string) => api.send("POST", "/v1/tokens", { as: "admin", body: { name, scope: "read" } }),
  },
  {
    in: "the owner of a hold",
    call: async (name: string) => {
      await put("held");
      return api.send("POST", "/v1/schedules/held/pause", { as: "admin", body: { owner: name } });
    },
  },
])(
  "A hidden character and a decomposed letter are refused in $in, each with its reason",
  async ({ call }) => {
    for (const [name, reason] of [
      [filler, hidden],
      [apart, composed],
    ] as const) {
      const { status, body: problem } = await call(name);
      expect([status, problem]).toEqual([400, expect.stringContaining(reason)]);
    }
    expect((await call("\u00fcber")).status).toBeLessThan(300);
  },
);

test("A list goes on behind a key that an earlier rule allowed, and a hold with such an owner ends", async () => {
  for (const key of ["a", "b", "c"]) expect((await put(key)).status).toBe(201);
  await api.send("POST", "/v1/schedules/a/pause", { as: "admin", body: { owner: "old" } });
  await api.sql`update carillon.schedules set key = ${filler} where key = 'b'`;
  await api.sql`update carillon.holds set owner = ${filler} where owner = 'old'`;
  const keys: string[] = [];
  let cursor: string | undefined;
  do {
    const query = `limit=1${cursor === undefined ? "" : `&cursor=${encodeURIComponent(cursor)}`}`;
    const { json } = await api.send("GET", "/v1/schedules", { query });
    const page = json as { items: { key: string }[]; cursor?: string };
    keys.push(...page.items.map(({ key }) => key));
    ({ cursor } = page);
  } while (cursor !== undefined);
  expect(keys).toEqual(["a", "c", filler]);
  const ended = await api.send("POST", "/v1/schedules/a/resume", { as: "admin", body: { owner: filler } });
  expect([ended.status, ended.body]).toEqual([200, expect.stringContaining('"state":"active"')]);
});
