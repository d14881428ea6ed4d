import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type OwnCli, ownCli } from "../own-cli.ts";

let cli: OwnCli;
let folder: string;

beforeAll(async () => {
  cli = await ownCli();
  folder = mkdtempSync(path.join(tmpdir(), "carillon-neighbours-"));
});

afterAll(async () => {
  rmSync(folder, { recursive: true });
  await cli.stop();
});

function file(name: string, content: string): string {
  const at = path.join(folder, name);
  mkdirSync(path.dirname(at), { recursive: true });
  writeFileSync(at, content);
  return at;
}

const get = async (key: string) => JSON.parse((await cli.carillon(["get", key, "--json"])).out);

const toQueue = ["--target", "queue:jobs"];
const cronJob = `kind: CronJob
metadata: {name: nightly}
spec: {schedule: "0 3 1-7 * *", timeZone: Europe/Berlin, concurrencyPolicy: Forbid, suspend: true}
`;

const sources: [form: string, name: string, content: string, options: string[], saved: object][] = [
  [
    "kubernetes",
    "manifest.yaml",
    `kind: Service\nmetadata: {name: web}\n---\n${cronJob}`,
    toQueue,
    { key: "nightly", when: "0 3 1-7 * *", overlap: "skip", state: "paused" },
  ],
  [
    "sidekiq",
    "schedule.yml",
    "sync:\n  cron: 0 9 1-7 * mon&\n  class: SyncJob\n",
    toQueue,
    { key: "sync", when: "0 9 1-7 * 1&", payload: { class: "SyncJob", args: [] } },
  ],
  [
    "solid-queue",
    "recurring.yml",
    "development:\n  clean:\n    command: A\n    schedule: every hour\n",
    [...toQueue, "--environment", "development"],
    { key: "clean", when: "0 * * * *", payload: { command: "A" } },
  ],
  [
    "pg-boss",
    "schedule.json",
    '[{"name":"report","key":"us","cron":"0 6 * * *","timezone":"UTC","data":null,"options":{}}]',
    toQueue,
    { key: "report:us", when: "0 6 * * *", payload: { name: "report", data: null } },
  ],
  [
    "vercel",
    "vercel.json",
    '{"crons":[{"path":"/api/daily","schedule":"0 9 * * *"}]}',
    ["--base-url", "https://example.com"],
    { key: "api:daily", target: { webhook: { url: "https://example.com/api/daily" } } },
  ],
  [
    "temporal",
    "schedules.json",
    '{"scheduleId":"poll","schedule":{"spec":{"interval":[{"interval":"3600s","phase":"60s"}]},"action":{"startWorkflow":{"workflowType":{"name":"Poll"}}}}}\n',
    toQueue,
    { key: "poll", when: "every 3600s", startsAt: "1970-01-01T00:01:00.000Z", overlap: "skip" },
  ],
];

test.each(sources)(
  "A source of %s is recognised by its content, imported, and unchanged the second time",
  async (form, name, content, options, saved) => {
    const args = ["import", file(name, content), "--prefix", `${form}:`, ...options];
    const tried = await cli.carillon([...args, "--dry-run"]);
    expect(tried.err).toContain(`Read as ${form}; --from chooses another form.`);
    expect(tried.out).toContain("1 schedule: 1 to create.");
    expect(await cli.carillon([...args, "--yes"])).toMatchObject({ code: 0 });
    const { key, ...fields } = { key: "", ...saved };
    expect(await get(`${form}:${key}`)).toMatchObject(fields);
    const again = await cli.carillon(args);
    expect(again.out).toBe("1 schedule: 1 unchanged.\nNothing to do.\n");
  },
);

test("An interval of Temporal occurs at the instants at which it occurs there", async () => {
  const { out } = await cli.carillon(["next", "temporal:poll", "--json"]);
  const [first = ""] = /\d{4}-\d\d-\d\dT[\d:.]+Z/.exec(out) ?? [];
  expect((Date.parse(first) / 1_000 - 60) % 3_600).toBe(0);
});

test("In a directory, manifests of Kubernetes are read and other files are passed over", async () => {
  file("manifests/apps/nightly.yaml", cronJob);
  file("manifests/README.md", "kind: CronJob");
  const args = ["import", path.join(folder, "manifests"), "--prefix", "dir:", ...toQueue, "--dry-run"];
  const { out, err } = await cli.carillon(args);
  expect(err).toContain("Read as kubernetes");
  expect(out).toContain("create dir:nightly (apps/nightly.yaml nightly)");
});

test("A schedule of Carillon with a payload like another scheduler's job is read as a schedule", async () => {
  const payload = "{ class: A, cron: '* * * * *', schedule: every hour }";
  const own = file("own.yaml", `when: every 1h\ntarget: { queue: a }\npayload: ${payload}\n`);
  expect(await cli.carillon(["import", own, "--dry-run"])).toMatchObject({
    code: 0,
    err: expect.stringContaining("Read as dir"),
  });
});

test("An import from another scheduler asks for the target, and one from Vercel for the address", async () => {
  const manifest = file("alone.yaml", cronJob);
  expect(await cli.carillon(["import", manifest])).toMatchObject({
    code: 2,
    err: expect.stringContaining("runs no jobs of kubernetes itself"),
  });
  const vercel = file("alone.json", '{"crons":[]}');
  expect(await cli.carillon(["import", vercel])).toMatchObject({
    code: 2,
    err: expect.stringContaining("--base-url"),
  });
  expect(await cli.carillon(["import", vercel, "--base-url", "example.com/x"])).toMatchObject({
    code: 2,
    err: expect.stringContaining("without a path"),
  });
});

test("An impossible job of another scheduler is reported with its reason, and the others can be imported", async () => {
  const name = file("some.yml", "a: {class: A, cron: '0 0 * * mon%2'}\nb: {class: B, cron: '@daily'}\n");
  const args = ["import", name, "--prefix", "some:", ...toQueue, "--yes"];
  const refused = await cli.carillon(args);
  expect(refused.code).toBe(1);
  expect(refused.out).toMatch(/! impossible some:a .*\n(.*\n)* {4}.*mon%2/);
  expect(await cli.carillon([...args, "--skip-impossible"])).toMatchObject({ code: 0 });
  expect((await cli.carillon(["ls", "some:", "--count"])).out).toBe("1\n");
});
