import { afterAll, beforeAll, expect, test } from "vitest";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import { type OwnCli, ownCli } from "./own-cli.ts";

let cli: OwnCli;

beforeAll(async () => {
  cli = await ownCli();
  for (const [key, error] of [
    ["a", "Error: db is down"],
    ["b", "Error: db is down"],
    ["c", "Error: Order 17 not found"],
  ] as const)
    await dies(key, error);
});

afterAll(() => cli.stop());

async function dies(key: string, error: string): Promise<void> {
  const { api } = cli;
  await api.send("PUT", `/v1/schedules/${key}`, { body: { when: "every 1d", target: { queue: "demo" } } });
  await api.send("POST", `/v1/schedules/${key}/fire`);
  const [row] = await api.sql<{ id: string }[]>`
    select p.id from carillon.parcels p join carillon.schedules s on s.id = any(p.schedule_ids) where s.key = ${key}`;
  const parcel = await claimParcel(api.sql, row?.id ?? "0", 30_000);
  if (parcel.outcome !== "claimed") throw new Error(`The parcel is ${parcel.outcome}.`);
  await settleParcel(api.sql, parcel, [{ kind: "dead", error, errorClass: "Error", stack: undefined }]);
}

async function errorGroup(): Promise<string> {
  const { out } = await cli.carillon(["errors", "--json"]);
  return (JSON.parse(out.split("\n")[0] ?? "{}") as { errorGroup: string }).errorGroup;
}

test("carillon errors lists the groups of dead jobs, the largest first", async () => {
  const { code, out, err } = await cli.carillon(["errors"]);
  expect([code, err]).toEqual([0, ""]);
  const [titles, first, second, ...rest] = out.trimEnd().split("\n");
  expect(titles).toMatch(/^GROUP +TARGET +JOBS +SCHEDULES +FIRST \(UTC\) +LAST +ERROR$/);
  expect(first).toMatch(/^[0-9a-f]{12} +queue\/demo +2 +2 .* Error: db is down$/);
  expect(second).toMatch(/^[0-9a-f]{12} +queue\/demo +1 +1 .* Error: Order <n> not found$/);
  expect(rest).toEqual([]);
});

test("carillon errors --by target shows the last error of each target", async () => {
  const { out } = await cli.carillon(["errors", "--by", "target"]);
  expect(out).toMatch(/\nqueue\/demo +3 +3 .* Error: Order 17 not found\n$/);
  expect((await cli.carillon(["errors", "--state", "retrying"])).err).toBe("No failed job matches.\n");
});

test("carillon jobs shows the reason and the error of a job apart", async () => {
  const { out } = await cli.carillon(["jobs", "--state", "dead", "--error-group", await errorGroup()]);
  const [titles, ...rows] = out.trimEnd().split("\n");
  expect(titles).toMatch(/ WHY +ERROR$/);
  expect(rows).toHaveLength(2);
  for (const row of rows) expect(row).toMatch(/ attempts \(manual\) +Error: db is down$/);
});

test("carillon retry --dry-run counts the jobs of a group and shows some, and retries none", async () => {
  const group = await errorGroup();
  const { code, out } = await cli.carillon(["retry", "--error-group", group, "--dry-run"]);
  expect(code).toBe(0);
  expect(out).toMatch(/^2 jobs would be retried\.\nThey are:\nID .*\n.*db is down\n.*db is down\n$/);
  expect((await cli.carillon(["jobs", "--state", "dead", "--json"])).out.trimEnd().split("\n")).toHaveLength(
    3,
  );
});

test("carillon cancel --dry-run counts the jobs and cancels none", async () => {
  await cli.api.send("POST", "/v1/jobs", { body: { target: { queue: "demo" }, key: "later", at: "in 1h" } });
  const { out } = await cli.carillon(["cancel", "--key", "later", "--dry-run"]);
  expect(out).toMatch(/^1 job would be cancelled\.\nThey are:\n/);
  expect((await cli.carillon(["jobs", "--prefix", "later", "--upcoming"])).out).toMatch(/ waiting /);
});

test("Without --yes, a retry or a cancel by filter asks with the number of jobs that it counted", async () => {
  const group = await errorGroup();
  const retry = await cli.carillon(["retry", "--error-group", group], { answer: "n" });
  expect(retry).toMatchObject({ code: 1, out: "", err: "Nothing was done.\n" });
  expect((await cli.carillon(["retry", "--error-group", group])).err).toBe(
    `Retry 2 jobs (state dead, errorGroup ${group})? There is no terminal for the answer: use --yes.\n`,
  );
  expect((await cli.carillon(["cancel", "--key", "later"])).err).toMatch(/^Cancel 1 job \(key later\)\? /);
  expect(await cli.carillon(["retry", "--state", "dead", "--key", "none"])).toMatchObject({
    code: 0,
    out: "Retried: 0 jobs.\n",
    err: "",
  });
});

test("carillon retry --error-group retries the jobs of the group, and names the command that shows what became of them", async () => {
  const { out, err } = await cli.carillon(["retry", "--error-group", await errorGroup(), "--yes"]);
  expect(out).toBe("Retried: 2 jobs.\n");
  const [, entry = ""] = /^To see what became of them: carillon jobs --entry (\d+)\n$/.exec(err) ?? [];
  const became = await cli.carillon(["jobs", "--entry", entry]);
  expect(became.out.trimEnd().split("\n")).toHaveLength(3);
  expect(became.err).toBe("Of 2 jobs: 2 retrying.\n");
  expect((await cli.carillon(["errors"])).out).toMatch(/Order <n> not found\n$/);
});

test("A retry as JSON has the entries of the audit, and its jobs can be listed by state", async () => {
  const { out } = await cli.carillon(["retry", "--state", "dead", "--key", "c", "--yes", "--json"]);
  const { entries, ...counts } = JSON.parse(out) as { entries: string[] };
  expect(counts).toEqual({ done: 1, leftOut: 0, failed: 0 });
  const dead = await cli.carillon(["jobs", "--entry", entries.join(","), "--state", "dead"]);
  expect(dead).toMatchObject({ out: "", err: "No job matches.\nOf 1 job: 1 retrying.\n" });
});
