import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type OwnCli, ownCli } from "./own-cli.ts";

let cli: OwnCli;
let folder: string;
const asked = { key: "c", when: "every 5m", target: { queue: "demo" } };

beforeAll(async () => {
  cli = await ownCli();
  folder = await mkdtemp(path.join(tmpdir(), "carillon-cli-"));
  await writeFile(path.join(folder, "c.json"), JSON.stringify(asked));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await cli.stop();
});

test("An unreadable schedule is listed as such, shown with the reason, and repaired by apply", async () => {
  const { when, target } = asked;
  await cli.api.send("PUT", "/v1/schedules/b", { body: { when, target } });
  const apply = ["apply", folder, "--name", "set", "--yes"];
  for (const dry of [[], ["--dry-run", "--exit-code"]])
    expect((await cli.carillon([...apply, ...dry])).code).toBe(0);
  await cli.api.sql`
    update carillon.schedule_versions set body = body || '{"catchUp": null}'
    where schedule_id = (select id from carillon.schedules where key = 'c')`;
  const { out } = await cli.carillon(["ls"]);
  expect(out).toMatch(/^b +active /m);
  expect(out).toMatch(/^c +unreadable /m);
  expect((await cli.carillon(["get", "c"])).out).toContain("`catchUp` is null");
  expect((await cli.carillon(apply)).code).toBe(0);
  expect((await cli.carillon(["ls"])).out).toMatch(/^c +active /m);
});
