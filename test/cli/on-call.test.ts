import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { reasonText } from "../../lib/cli/output/reasons.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import { minute } from "../support/instants.ts";
import { type OwnCli, ownCli } from "./own-cli.ts";

let cli: OwnCli;

beforeAll(async () => {
  cli = await ownCli();
});

afterAll(() => cli.stop());

const berlin = ["--timezone", "Europe/Berlin"];
const put = (key: string, when: string, ...more: string[]) =>
  cli.carillon(["put", key, "--when", when, "--queue", "demo", ...more]);

/** A job that was fired and that fails at its only attempt. */
async function died(key: string): Promise<string> {
  const { id } = JSON.parse((await cli.carillon(["fire", key, "--json"])).out);
  const [parcel] = await cli.api.sql<{ id: string }[]>`
    select p.id from carillon.parcels p where p.kinds = array['manual']::carillon.job_kind[] and p.lease_until is null
    order by p.id desc limit 1`;
  const claimed = await claimParcel(cli.api.sql, parcel?.id ?? "0", 30_000);
  if (claimed.outcome !== "claimed") throw new Error(`The parcel is ${claimed.outcome}.`);
  const error = { error: "Error: db is down", errorClass: "Error" };
  await settleParcel(cli.api.sql, claimed, [{ kind: "dead", ...error }]);
  return id;
}

const columnOf = (out: string, at: number) =>
  out
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((line) => line.split(/ {2,}/)[at]);

test("Times given to a list are in the zone in which it shows times", async () => {
  await put("zoned:1", "at 2026-03-03T09:00", ...berlin);
  const within = async (from: string, to: string) =>
    columnOf((await cli.carillon(["ls", "zoned:", "--next-from", from, "--next-to", to, ...berlin])).out, 0);
  expect(await within("2026-03-03 08:55", "2026-03-03 09:05")).toEqual(["zoned:1"]);
  expect(await within("2026-03-03 09:55", "2026-03-03 10:05")).toEqual([]);
  expect(await within("2026-03-03 07:55 UTC", "2026-03-03 08:05 UTC")).toEqual(["zoned:1"]);
  const audit = (from: string) => cli.carillon(["audit", "--subject", "zoned:1", "--from", from, ...berlin]);
  expect((await audit("2026-03-02 10:59:00")).out).toContain("schedule.created");
  expect(await audit("2026-03-02 12:00")).toMatchObject({ out: "", err: "No change was recorded.\n" });
});

test("A list of jobs and a tail have those whose time has come; --upcoming has those that are made ahead", async () => {
  await put("ahead:1", "every 1m");
  await cli.api.tick();
  await cli.api.clock.advance(minute + 30_000);
  const states = async (...more: string[]) => {
    const { out } = await cli.carillon(["jobs", "ahead:1", "--json", ...more]);
    return out
      .trimEnd()
      .split("\n")
      .map((line) => Date.parse(JSON.parse(line).occurrence) > cli.api.clock.now().getTime());
  };
  expect(await states()).toEqual([false]);
  expect(await states("--upcoming")).toEqual([true, true]);
  expect(await states("--state", "waiting")).toEqual([false]);
  expect(await states("--to", "in 1h")).toEqual([true, true, false]);
  const tail = await cli.carillon(["tail", "ahead:1", "--for", "1", "--json"]);
  expect(tail.out.trimEnd().split("\n")).toHaveLength(1);
  const all = await cli.carillon(["jobs", "--prefix", "ahead:", "--json"]);
  expect(all.out.trimEnd().split("\n")).toHaveLength(1);
});

test("A job shows its reason and its error apart, and explain takes its id", async () => {
  await put("fails:1", "every 1d", "--attempts", "1");
  const id = await died("fails:1");
  const { out } = await cli.carillon(["job", id]);
  expect(out).toMatch(
    /\nreason +attempts: all attempts of its retry policy failed\nerror +Error: db is down\n/,
  );
  const told = await cli.carillon(["explain", id]);
  expect(told).toMatchObject({ code: 0, out: expect.stringContaining(`\njob `) });
  expect(told.out).toContain(id);
  expect(told.out).toMatch(/\nerror +Error: db is down\n/);
  expect(await cli.carillon(["explain", "1-1-c0"])).toMatchObject({
    code: 4,
    err: expect.stringContaining('There is no schedule "1-1-c0"'),
  });
});

test("An occurrence is explained by any text of its time, and what was meant is shown", async () => {
  await put("told:1", "every 1h");
  const { out } = await cli.carillon(["get", "told:1", ...berlin]);
  const [, shown = ""] = /next \(Europe\/Berlin\) +(.*)\n/.exec(out) ?? [];
  const next = JSON.parse((await cli.carillon(["get", "told:1", "--json"])).out).nextAt;
  expect(next).not.toMatch(/\.000Z$/);
  for (const text of [
    shown,
    shown.slice(0, 19),
    `${shown.slice(0, 19)} Europe/Berlin`,
    `${next.slice(0, 19)}Z`,
  ]) {
    const { code, out } = await cli.carillon(["explain", "told:1", "--at", text, "--json", ...berlin]);
    expect({ code, at: JSON.parse(out).at }, text).toEqual({ code: 0, at: next });
  }
  const told = await cli.carillon(["explain", "told:1", "--at", shown, ...berlin]);
  expect(told.out).toMatch(/\nasked +2026-03-02 \d\d:\d\d:\d\d, which means the run \d+ ms later\n/);
});

test("The sentence of an explanation has its times in the shown zone, and its cadence as it is stored", async () => {
  await put("sentence:1", "at 2026-03-05T09:00:00Z");
  await cli.carillon(["patch", "sentence:1", "--when", "at 2026-03-06T09:00:00Z"]);
  const { out } = await cli.carillon(["explain", "sentence:1", "--at", "2026-03-05 10:00", ...berlin]);
  const [sentence = ""] = out.split("\n");
  expect(sentence).toMatch(
    /^Is no longer an occurrence: the schedule was edited by token `\S+` \(version 2\) at 2026-03-02 11:\d\d:\d\d, before it was due, from `at 2026-03-05T09:00:00Z` in UTC to /,
  );
});

test("A schedule's zone is shown once", async () => {
  await put("once:1", "0 9 * * *", ...berlin);
  await put("once:2", "every 1h", ...berlin);
  for (const key of ["once:1", "once:2"]) {
    const { out } = await cli.carillon(["get", key, "--timezone", "UTC"]);
    expect(out.split("Europe/Berlin")).toHaveLength(2);
  }
});

test("A list that is cut says how many entries match, where the API counts them", async () => {
  for (const n of [1, 2, 3]) await put(`cut:${n}`, "every 1h");
  expect((await cli.carillon(["ls", "cut:", "--limit", "2"])).err).toBe(
    "These are the first 2 of 3: use --limit or --all.\n",
  );
  expect((await cli.carillon(["audit", "--prefix", "cut:", "--limit", "2"])).err).toBe(
    "These are the first 2, and there are more: use --limit or --all.\n",
  );
});

test("The audit shows key fields of a creation, and all fields with --full", async () => {
  await put(
    "audited:1",
    "0 9 * * *",
    "--tag",
    "mails",
    "--payload",
    `{"long":"${"x".repeat(300)}"}`,
    ...berlin,
  );
  const line = async (...more: string[]) =>
    (await cli.carillon(["audit", "--subject", "audited:1", ...more])).out.split("\n")[1] ?? "";
  expect(await line()).toMatch(
    /schedule\.created +audited:1 +when 0 9 \* \* \*, timezone Europe\/Berlin, target \{"queue":"demo"\}, tags \["mails"\], \d+ more \(--full\); payload: \{"long":"x+…$/,
  );
  expect(await line("--full")).toContain("xxx");
  await cli.carillon(["pause", "audited:1", "--reason", "target is down"]);
  expect(await line()).toMatch(/schedule\.paused +audited:1 +owner \S+, reason target is down$/);
});

test("A resume says which holds of other owners stay, on one schedule and on a tag", async () => {
  await put("held:1", "every 1h", "--tag", "held");
  await cli.carillon(["pause", "--tag", "held", "--owner", "deploys", "--reason", "new template"]);
  const tag = await cli.carillon(["resume", "--tag", "held"]);
  expect(tag.err).toMatch(
    /^Still held by deploys, since [^:]+:\d\d:\d\d \(.*\): new template \(an admin releases it with --owner deploys\)\n$/,
  );
  const one = await cli.carillon(["resume", "held:1"]);
  expect(one.out).toMatch(/\nIt is paused\.\nHeld by deploys on the tag held, since .*: new template\n/);
  const released = await cli.carillon(["resume", "--tag", "held", "--owner", "deploys"]);
  expect(released).toMatchObject({ code: 0, err: "" });
});

test("A group says how to list the rest of its schedules", async () => {
  const schedules = Array.from({ length: 101 }, (_, n) => ({
    put: { key: `many:${n}`, when: "every 1d", target: { queue: "demo" }, tags: ["many"] },
  }));
  await cli.api.send("POST", "/v1/schedules:batch", { body: { operations: schedules } });
  expect((await cli.carillon(["group", "many", "--tag"])).err).toBe(
    "There are more schedules: carillon ls --tag many\n",
  );
});

test("carillon stats says how many jobs are made ahead of their time", async () => {
  const { out } = await cli.carillon(["stats"]);
  expect(out).toMatch(/waiting +\d+, of them \d+ due, \d+ made ahead \(up to 3 minutes\), /);
  expect(out).toMatch(/\nLAST +MADE +SUCCEEDED /);
});

test("Every reason in docs/states.md has its words", () => {
  const page = readFileSync(path.join(import.meta.dirname, "..", "..", "docs", "states.md"), "utf8");
  const [, table = ""] = page.split("## Reasons");
  const reasons = [...table.matchAll(/^\| \w+ \| `([\w-]+)` \|/gm)].map(([, reason = ""]) => reason);
  expect(reasons.length).toBeGreaterThan(10);
  for (const reason of reasons) expect(reasonText(reason)).toMatch(new RegExp(`^${reason}: `));
});
