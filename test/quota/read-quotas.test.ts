import { afterAll, beforeAll, expect, test } from "vitest";
import type { Measured } from "../../lib/log/metrics.ts";
import { measureTick } from "../../lib/tick/housekeeping/measure.ts";
import { issueToken, withToken } from "../api/issued-token.ts";
import { type OwnCli, ownCli } from "../cli/own-cli.ts";
import { recordedLog } from "../support/recorded-log.ts";
import { type QuotaWorld, quotaWorldOf } from "./quota-world.ts";

let cli: OwnCli;
let world: QuotaWorld;
beforeAll(async () => {
  cli = await ownCli();
  world = await quotaWorldOf(cli.api, "acme:=schedules=4", "schedules=100", "acme:=tokens=none");
});
afterAll(() => cli.stop());

const get = async (by?: Parameters<typeof withToken>[0], query = "") =>
  (await world.api.send("GET", "/v1/quotas", { ...withToken(by), query })).json as {
    items: { prefix: string; schedules: object }[];
    cursor?: string;
  };

test("A caller reads the quotas of the prefixes that it reaches and of those that limit it, and no others", async () => {
  const acme = await issueToken(world.api, { name: "acme", prefix: "acme:" });
  const eu = await issueToken(world.api, { name: "eu", prefix: "acme:eu:" }, acme);
  const other = await issueToken(world.api, { name: "other", prefix: "other:" });
  await world.put("acme:1", { when: "every 1m", payload: "four" }, acme);
  await world.put("acme:eu:2", {}, eu);
  expect((await world.put("other:3", {}, other)).status).toBe(201);
  const whole = await get();
  expect(whole).toEqual({
    items: [
      {
        prefix: "acme:",
        schedules: { used: 2, allowed: 4 },
        firesPerMinute: { used: 2, allowed: 60_000 },
        payloadBytes: { used: 6, allowed: 10_000_000_000 },
        payloadBytesPerDay: { used: 38, allowed: 10_000_000_000 },
        tokens: { used: 2, allowed: null },
        holds: { used: 0, allowed: 10_000 },
        inboxRows: { used: 0, allowed: 100_000 },
      },
      expect.objectContaining({ prefix: "other:", schedules: { used: 1, allowed: 100 } }),
    ],
    calendars: { used: 0, allowed: 1_000 },
  });
  expect((await get(eu)).items.map(({ prefix }) => prefix)).toEqual(["acme:"]);
  expect((await get(other)).items.map(({ prefix }) => prefix)).toEqual(["other:"]);
  const first = await get(undefined, "limit=1");
  expect(first.items.map(({ prefix }) => prefix)).toEqual(["acme:"]);
  const second = await get(undefined, `limit=1&cursor=${first.cursor}`);
  expect(second.items.map(({ prefix }) => prefix)).toEqual(["other:"]);
  expect(second.cursor).toBeUndefined();
});

test("A token that has made nothing yet reads the quotas of its prefix as unused", async () => {
  const fresh = await issueToken(world.api, { name: "fresh", prefix: "fresh:" });
  expect((await get(fresh)).items).toMatchObject([
    { prefix: "fresh:", schedules: { used: 0, allowed: 100 } },
  ]);
});

test("carillon quotas shows each quota with its part, and --near only those that are nearly used up", async () => {
  await world.put("acme:4");
  await world.put("acme:5");
  const { out } = await cli.carillon(["quotas"]);
  expect(out).toMatch(/^PREFIX +QUOTA +USED +ALLOWED +PART\nacme: +schedules +4 +4 +100 %\n/);
  expect(out).toMatch(/\nacme: +tokens +2 +no limit\n/);
  expect(out).toMatch(/\nother: +schedules +1 +100 +1 %\n/);
  const near = await cli.carillon(["quotas", "--near"]);
  expect(near.out).toMatch(/^PREFIX .*\nacme: +schedules .*\n$/);
  const json = await cli.carillon(["quotas", "--json", "--near"]);
  expect(JSON.parse(json.out)).toMatchObject({ prefix: "acme:" });
});

test("The tick reports the fullest quota and logs those that are nearly used up, every ten minutes", async () => {
  const written: Measured[] = [];
  const log = recordedLog();
  const metrics = { write: (measured: Measured) => void written.push(measured) };
  const measure = () => measureTick({ sql: world.api.sql, log, metrics }, { rolledUp: undefined, ms: 1 });
  const now = world.api.clock.now().getTime();
  await world.api.clock.advance(600_000 - (now % 600_000));
  await measure();
  expect(written[0]).toMatchObject({ QuotaUsedPercent: 100 });
  expect(log.lines.map(({ event, fields }) => [event, fields])).toEqual([
    ["quota.near", { prefix: "acme:", quota: "schedules", used: 4, allowed: 4, percent: 100 }],
  ]);
  await world.api.clock.advance(60_000);
  await measure();
  expect(written[1]).not.toHaveProperty("QuotaUsedPercent");
});
