import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type OwnCli, ownCli } from "./own-cli.ts";

let cli: OwnCli;
let folder: string;

beforeAll(async () => {
  cli = await ownCli();
  folder = await mkdtemp(path.join(tmpdir(), "carillon-failed-"));
  await cli.api.sql.unsafe(`
    create function carillon.break_keys() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$`);
});

afterAll(async () => {
  await cli.stop();
  await rm(folder, { recursive: true, force: true });
});

async function breakKey(key: string, how: "insert" | "update"): Promise<void> {
  await cli.api.sql.unsafe(`
    create or replace trigger break_keys before ${how} on carillon.schedules for each row when (new.key = '${key}')
      execute function carillon.break_keys()`);
}

const schedule = (key: string) => ({ key, when: "every 1h", target: { queue: "demo" } });

test("carillon rm --prefix deletes what it can, names failed schedules, and exits with the code of a retryable failure", async () => {
  const operations = ["d:1", "d:2", "d:3"].map((key) => ({ put: schedule(key) }));
  await cli.api.send("POST", "/v1/schedules:batch", { body: { operations } });
  await breakKey("d:2", "update");
  const { code, out, err } = await cli.carillon(["rm", "--prefix", "d:", "--yes"]);
  expect(code).toBe(3);
  expect(out).toContain("Deleted 2 schedules.");
  expect(err).toContain("d:2: Carillon failed on it");
  expect(err).toContain("1 schedule could not be deleted.");
});

test("carillon import imports what it can, names failed schedules with the request id, and exits with the code of a retryable failure", async () => {
  for (const n of [1, 2, 3])
    await writeFile(path.join(folder, `${n}.json`), JSON.stringify(schedule(`i:${n}`)));
  await breakKey("i:2", "insert");
  const { code, out, err } = await cli.carillon([
    ...["import", folder, "--from", "dir"],
    ...["--skip-impossible", "--yes"],
  ]);
  expect(code).toBe(3);
  expect(out).toContain("Created 2, changed 0, removed 0.");
  expect(err).toContain("1 of 3 changes failed. i:2: An unexpected error occurred");
  expect(err).toContain("request request-1");
});

test("A bulk carillon retry or cancel does what it can, counts failures, and exits with the code of a retryable failure", async () => {
  const { sql } = cli.api;
  for (const key of ["m:1", "m:2", "m:3"]) {
    await cli.api.send("PUT", `/v1/schedules/${key}`, {
      body: { when: "every 1h", target: { queue: "demo" } },
    });
    await cli.api.send("POST", `/v1/schedules/${key}/fire`, { body: {} });
  }
  await sql.unsafe(`
    create or replace trigger break_job before update on carillon.jobs for each row
      when (old.schedule_id = ${(await sql`select id from carillon.schedules where key = 'm:2'`)[0]?.["id"]})
      execute function carillon.break_keys()`);
  const cancelled = await cli.carillon(["cancel", "--prefix", "m:", "--yes"]);
  expect(cancelled).toMatchObject({ code: 3, out: expect.stringContaining("Cancelled: 2 jobs") });
  expect(cancelled.err).toContain("The server failed on 1 job, and left it unchanged; its log names it.");
  const retried = await cli.carillon(["retry", "--state", "cancelled", "--key", "m:1", "--yes", "--json"]);
  expect(retried).toMatchObject({ code: 0 });
  expect(JSON.parse(retried.out)).toMatchObject({ done: 1, leftOut: 0, failed: 0 });
});

test("carillon inbox lists, shows and forgets a command that the SQL inbox refused", async () => {
  await cli.api
    .sql`select carillon.put_schedule('{"key": "n:1", "when": "evry 1h", "target": {"queue": "demo"}}')`;
  expect(await cli.carillon(["inbox", "apply"])).toMatchObject({
    code: 0,
    out: expect.stringContaining("1 refused"),
  });
  const { out: listed } = await cli.carillon(["inbox", "ls", "--json"]);
  const { id } = JSON.parse(listed.split("\n")[0] ?? "");
  const { out: shown } = await cli.carillon(["inbox", "get", id]);
  expect(shown).toMatch(/key +n:1\n[\s\S]+put\.when [\s\S]+"when":"evry 1h"/);
  expect(await cli.carillon(["inbox", "rm", id])).toMatchObject({ code: 0, out: `Forgot ${id}.\n` });
  expect((await cli.carillon(["inbox", "ls"])).err).toContain("No command was refused.");
  expect(await cli.carillon(["inbox", "rm", id])).toMatchObject({ code: 4 });
  expect((await cli.carillon(["inbox", "rm"])).err).toContain("takes an id");
  expect((await cli.carillon(["inbox", "ls", id])).err).toContain("takes no id");
});
