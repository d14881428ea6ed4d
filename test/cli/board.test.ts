import { afterAll, beforeAll, expect, test } from "vitest";
import { type OwnCli, ownCli } from "./own-cli.ts";

let cli: OwnCli;

beforeAll(async () => {
  cli = await ownCli();
  cli.api.betweenRequestsMs = 0;
  await cli.api.tick();
});

afterAll(() => cli.stop());

const put = (key: string, ...more: string[]) => cli.carillon(["put", key, "--queue", "demo", ...more]);

test("carillon whoami shows the token's scope and what it may do", async () => {
  const { code, out } = await cli.carillon(["whoami"], { env: { CARILLON_TOKEN: "read-token" } });
  expect(code).toBe(0);
  expect(out).toMatch(
    /^name +reader\nscope +read\nkeys +all\nexpires +never\nrate +no limit\nowner of its holds +reader\n/,
  );
  expect(out).toContain("\nSchedules\n  ");
  expect(out).not.toContain("Create a schedule, or replace it");
  const machine = await cli.carillon(["whoami", "--json"]);
  expect(JSON.parse(machine.out)).toMatchObject({ name: "adminer", scope: "admin", holdOwner: "adminer" });
});

test("carillon whoami shows the rate of the token with the units left", async () => {
  const made = await cli.carillon([
    "token",
    "create",
    "limited",
    "--scope",
    "read",
    "--rate",
    "5/h",
    "--json",
  ]);
  const env = { CARILLON_TOKEN: JSON.parse(made.out).token };
  expect((await cli.carillon(["whoami"], { env })).out).toMatch(/\nrate +5\/h, 4 left\n/);
});

test("carillon commands shows the prefix of the queue, and a retry beyond it fails with that prefix", async () => {
  const [row] = await cli.api.sql<{ id: string }[]>`
    insert into carillon.dead_commands (message_id, place, key, queue_prefix, refused_at, refusal, command)
    values ('m', 0, 'good:a', 'evil:', carillon.clock(), '{"kind":"forbidden","message":"no"}', '{"pause":"good:a"}') returning id`;
  const id = row?.id ?? "";
  expect((await cli.carillon(["commands", "get", id])).out).toMatch(/\nkey +good:a\nqueue reaches +evil:…\n/);
  const { code, err } = await cli.carillon(["commands", "retry", id]);
  expect(code).not.toBe(0);
  expect(err).toContain('reaches keys that begin with "evil:"');
});

test("carillon holds shows owner, reason and time left, and a group's hold as one line", async () => {
  for (const key of ["h:1", "h:2"]) await put(key, "--when", "every 1h", "--group", "crew");
  await cli.carillon(["pause", "--group", "crew", "--reason", "strike", "--until", "in 2h"]);
  const { out } = await cli.carillon(["holds"]);
  expect(out).toMatch(/^WHAT +OWNER +SINCE +UNTIL \(UTC\) +LEFT +SET FOR +RELEASE +MEMBERS +REASON\n/);
  expect(out).toMatch(/\ngroup crew +adminer +now +2026-03-02 12:00:00 +2h +all keys +yes +2 +strike\n$/);
  const reader = await cli.carillon(["holds"], { env: { CARILLON_TOKEN: "read-token" } });
  expect(reader.out).toMatch(/ +2h +all keys +no +2 +strike\n$/);
  expect((await cli.carillon(["holds", "--scope", "tag"])).err).toBe("Nothing is held.\n");
  await cli.carillon(["resume", "--group", "crew"]);
  expect((await cli.carillon(["holds", "--ended"])).out).toMatch(
    /\ngroup crew +adminer +\S+ +2026-03-02 10:00:00 +adminer +- +strike\n/,
  );
});

test("carillon groups lists the groups by name, and says that there are more", async () => {
  for (const [key, group] of [
    ["l:1", "lists:1"],
    ["l:2", "lists:1"],
    ["l:3", "lists:2"],
  ] as const)
    await put(key, "--when", "every 1h", "--group", group);
  const { out } = await cli.carillon(["groups", "--prefix", "lists:"]);
  expect(out).toMatch(/^GROUP +SCHEDULES +SUCH AS\nlists:1 +2 +l:1\nlists:2 +1 +l:3\n$/);
  expect((await cli.carillon(["groups", "--prefix", "lists:", "--limit", "1"])).err).toContain(
    "These are the first 1, and there are more: use --limit or --all.",
  );
  expect((await cli.carillon(["groups", "--prefix", "none:"])).err).toBe("No group begins with none:.\n");
});

test("The members of a group's hold are the schedules that it covers now, later ones too, and no deleted ones", async () => {
  for (const key of ["m:1", "m:2"]) await put(key, "--when", "every 1h", "--group", "team");
  await cli.carillon(["pause", "--group", "team"]);
  expect((await cli.carillon(["group", "team"])).out).toMatch(
    /^held by adminer, .* \(set on 2 schedules\)\n/,
  );
  await cli.carillon(["rm", "m:1", "m:2"]);
  await put("m:3", "--when", "every 1h", "--group", "team");
  const { out } = await cli.carillon(["group", "team"]);
  expect(out).toMatch(/ \(set on 1 schedule\)\nKEY .*\nm:3 +paused /);
  expect((await cli.carillon(["holds"])).out).toMatch(/\ngroup team .* 1 *\n/);
  await cli.carillon(["resume", "--group", "team"]);
});

test("A paused schedule shows until when it is held where another shows its next run", async () => {
  await put("p", "--when", "every 1h");
  await cli.carillon(["pause", "p", "--until", "in 2h"]);
  const shown = /held until 2026-03-02 12:00:\d\d \(in \S+/;
  expect((await cli.carillon(["ls", "p", "--timezone", "UTC"])).out).toMatch(shown);
  expect((await cli.carillon(["get", "p", "--timezone", "UTC"])).out).toMatch(shown);
  const { out } = await cli.carillon(["versions", "p", "--timezone", "Europe/Berlin"]);
  expect(out).toMatch(/ held by adminer until 2026-03-02 13:00:\d\d\n/);
  await cli.carillon(["pause", "p"]);
  expect((await cli.carillon(["get", "p"])).out).toMatch(/\nnext \(UTC\) +held\n/);
  await cli.carillon(["rm", "p", "--yes"]);
});

test("carillon forecast prints lines of an hour and the heaviest minutes, in the zone of --timezone", async () => {
  await put("f:daily", "--when", "0 15 * * *");
  await put("f:often", "--when", "*/10 * * * *");
  const args = ["forecast", "--minutes", "1440", "--by", "prefix", "--spread", "10m"];
  const { out } = await cli.carillon([...args, "--timezone", "Asia/Kolkata"]);
  const lines = out.split("\n");
  expect(lines[0]).toMatch(/^FROM \(Asia\/(Kolkata|Calcutta)\) +RUNS +HEAVIEST MINUTE +WITH 10m$/);
  const rows = lines.slice(1, lines.indexOf(""));
  expect(rows.length).toBeLessThanOrEqual(26);
  expect(rows.slice(1).every((row) => /^2026-03-0[23] \d\d:00 /.test(row))).toBe(true);
  expect(out).toMatch(/\n2026-03-02 20:30: \d+ runs \(.*0 15 \* \* \* 1/);
  expect(out).toMatch(/\nPREFIX +RUNS\n/);
  expect(out).toMatch(/\nf: +144\n/);
});

test("carillon calendar put --dry-run shows whose runs would change, and saves nothing", async () => {
  await cli.carillon(["calendar", "put", "off", "--weekly", "sun"]);
  await put("c:daily", "--when", "0 9 * * *", "--calendar", "off");
  const change = ["calendar", "put", "off", "--weekly", "sun", "--date", "2026-03-04", "--dry-run"];
  const { code, out } = await cli.carillon(change);
  expect(code).toBe(0);
  expect(out).toMatch(
    /^Would change off, which 1 schedules use: 1 of 1 compared would run at other times\.\n/,
  );
  expect(out).toMatch(/\n {2}before {2}2026-03-04 09:00:00, .*\n {2}after {3}2026-03-05 09:00:00, /);
  expect((await cli.carillon(["calendar", "get", "off", "--json"])).out).toContain('"version":1');
});

test("carillon calendar put takes the file that carillon calendar get --json has written", async () => {
  await cli.carillon([
    "calendar",
    "put",
    "copied",
    "--weekly",
    "sun",
    "--date",
    "12-25",
    "--description",
    "Closed",
  ]);
  const { out: input } = await cli.carillon(["calendar", "get", "copied", "--json"]);
  expect(input).toContain('"updatedBy"');
  const put = await cli.carillon(["calendar", "put", "copy", "--file", "-", "--json"], { input });
  expect({ ...put, out: JSON.parse(put.out) }).toMatchObject({
    code: 0,
    out: { name: "copy", weekly: ["sun"], dates: ["12-25"], description: "Closed", version: 1 },
  });
});

test("carillon limit put sets how many jobs of one team run at once, and limit ls shows it", async () => {
  const { code } = await cli.carillon([
    "limit",
    "put",
    "queue/demo",
    "--concurrency",
    "10",
    "--per-team",
    "4",
  ]);
  expect(code).toBe(0);
  expect((await cli.carillon(["limit", "ls"])).out).toMatch(
    /^TARGET +AT ONCE +PER TEAM +RATE .*\nqueue\/demo +10 +4 +- /,
  );
  const refused = await cli.carillon(["limit", "put", "queue/demo", "--per-team", "4"]);
  expect(refused.code).not.toBe(0);
  expect(refused.err).toContain("perTeam");
});

test("carillon stats shows ended schedules apart from active ones", async () => {
  expect((await cli.carillon(["stats"])).out).toMatch(/\nschedules +\d+ active, 0 paused, 0 ended\n/);
});
