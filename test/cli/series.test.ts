import { afterAll, beforeAll, expect, test } from "vitest";
import { minute } from "../support/instants.ts";
import { type OwnCli, ownCli } from "./own-cli.ts";

let cli: OwnCli;
let team: Record<string, string>;

beforeAll(async () => {
  cli = await ownCli();
  await cli.carillon(["put", "ours:a", "--when", "30 * * * *", "--queue", "demo"]);
  await cli.carillon(["put", "theirs:a", "--when", "30 * * * *", "--queue", "demo"]);
  await cli.carillon(["fire", "ours:a"]);
  await cli.carillon(["fire", "theirs:a"]);
  const made = await cli.api.send("POST", "/v1/tokens", {
    body: { name: "team", scope: "read", prefix: "ours:" },
  });
  team = { CARILLON_TOKEN: (made.json as { token: string }).token };
  await cli.api.sql`
    insert into carillon.tallies (at, succeeded, failed, dead, missed, late_buckets, late_jobs)
    values (carillon.clock(), 1000, 3, 1, 0, array[carillon.lateness_bucket('250 ms')], array[1000])`;
  await cli.api.clock.advance(5 * minute);
});

afterAll(() => cli.stop());

test("carillon series prints a line for each step, oldest first, with a bar and the lateness", async () => {
  const { code, out, err } = await cli.carillon(["series", "--last", "10m"]);
  expect(code).toBe(0);
  const lines = out.trimEnd().split("\n");
  expect(lines[0]).toMatch(
    /^STEP \(UTC\) +MADE +SUCCEEDED +RETRIED +DEAD .* TRIES A MINUTE +LATE p50 +LATE p99 +LATE max$/,
  );
  expect(lines).toHaveLength(12);
  expect(lines[1]).toMatch(/^2026-03-02 09:55 +0 +0 /);
  const full = lines.find((line) => line.includes("10:00"));
  expect(full).toMatch(/10:00 +█{20}× +2 +1,000 +2 +1 +0 +0 +0 +1,003 +(24|25)\d ms /);
  expect(lines.at(-1)).toMatch(/^2026-03-02 10:05… /);
  expect(err).toMatch(/^As of 2026-03-02 10:05:00\. A job counts when it was settled\./);
});

test("carillon series with a filter, and for a token with a prefix, counts jobs at their occurrence", async () => {
  for (const parts of [{}, { env: team }]) {
    const args = ["series", "--last", "10m", "--json", ...("env" in parts ? [] : ["--prefix", "ours:"])];
    const { out } = await cli.carillon(args, parts);
    const steps = out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(steps.map(({ made }) => made)).toEqual([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]);
  }
  const { err } = await cli.carillon(["series"], { env: team });
  expect(err).toContain("A job counts at its occurrence");
});

test("carillon series picks a step that gives at most a hundred lines", async () => {
  for (const [last, lines] of [
    ["90m", 92],
    ["6h", 74],
    ["1d", 98],
  ] as const)
    expect((await cli.carillon(["series", "--last", last])).out.trimEnd().split("\n")).toHaveLength(lines);
});

test.each([
  [[], /Counts by minute are kept for two days: the first step shown is that of 2026-02-28 11:00/],
  [["--prefix", "ours:"], /Nothing older is recorded: the first step shown is that of 2026-03-01 10:00/],
])("carillon series --last 90d %j says from when on it counts", async (filter, message) => {
  const { code, err } = await cli.carillon(["series", "--last", "90d", ...filter]);
  expect(code).toBe(0);
  expect(err).toMatch(message);
  const short = await cli.carillon(["series", "--last", "1h", ...filter]);
  expect(short.err).not.toMatch(message);
});

test.each([
  [["--last", "soon"], /--last takes a duration such as 90m/],
  [["--last", "1h", "--from", "2h ago"], /give one of them/],
  [["--step", "2m"], /--step takes 1m, 5m, 15m or 1h/],
])("carillon series %j says what is allowed", async (args, message) => {
  const { code, err } = await cli.carillon(["series", ...args]);
  expect(code).toBe(2);
  expect(err).toMatch(message);
});

test("carillon stats shows the last minutes, and a team's own numbers to a token with a prefix", async () => {
  const { out } = await cli.carillon(["stats"]);
  expect(out).toMatch(
    /\nLAST +MADE +SUCCEEDED .*\n5 minutes +2 +1,000 .*\nhour +2 +1,000 .*\nday +2 +1,000 /,
  );
  const own = await cli.carillon(["stats"], { env: team });
  expect(own.code).toBe(0);
  expect(own.out).toMatch(
    /\nprefix +ours:\nschedules +1 active, 0 paused, 0 ended\nwaiting +1, of them 1 due/,
  );
  expect(own.out).toMatch(/\n5 minutes +1 +0 .*\nhour +1 +0 .*\n$/);
});
