import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type OwnCli, ownCli } from "./own-cli.ts";

let cli: OwnCli;
let folder: string;

beforeAll(async () => {
  cli = await ownCli();
  folder = mkdtempSync(path.join(tmpdir(), "carillon-import-"));
});

afterAll(async () => {
  rmSync(folder, { recursive: true });
  await cli.stop();
});

function file(name: string, content: string | object): string {
  const at = path.join(folder, name);
  mkdirSync(path.dirname(at), { recursive: true });
  writeFileSync(at, typeof content === "string" ? content : JSON.stringify(content));
  return at;
}

const lines = (text: string): Record<string, unknown>[] =>
  text
    .trimEnd()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));

const get = async (key: string) => JSON.parse((await cli.carillon(["get", key, "--json"])).out);

describe("carillon import of a crontab", () => {
  const crontab = "# carillon: key=cron:backup\n0 3 * * * /opt/backup.sh\n@hourly /opt/poll\n";
  const to = ["--target", "queue:commands", "--timezone", "Europe/Berlin"];

  test("A crontab is previewed, imported by a separate process, and unchanged the second time", async () => {
    const name = file("crontab", crontab);
    const tried = await cli.spawned(["import", name, ...to, "--dry-run"]);
    expect(tried).toMatchObject({ code: 0, err: "Read as crontab; --from chooses another form.\n" });
    expect(tried.out).toContain(
      "+ create cron:backup (crontab:2): at 03:00 every day, Europe/Berlin\n    next",
    );
    expect(tried.out).toContain("2 schedules: 2 to create.\n");
    expect((await cli.carillon(["get", "cron:backup"])).code).toBe(4);
    const done = await cli.spawned(["import", name, ...to, "--yes"]);
    expect(done).toMatchObject({ code: 0, out: expect.stringContaining("Created 2, changed 0, removed 0.") });
    expect(await get("cron:backup")).toMatchObject({
      when: "0 3 * * *",
      timezone: "Europe/Berlin",
      target: { queue: "commands" },
      payload: { command: "/opt/backup.sh" },
      version: 1,
    });
    const again = await cli.spawned(["import", name, ...to]);
    expect(again).toMatchObject({ code: 0, out: "2 schedules: 2 unchanged.\nNothing to do.\n" });
    expect(await get("cron:backup")).toMatchObject({ version: 1 });
  });

  test("A changed crontab shows each field before and after, and asks for confirmation", async () => {
    const input = crontab.replace("0 3", "0 4");
    const args = ["import", "-", ...to];
    expect(await cli.carillon(args, { input })).toMatchObject({
      code: 1,
      err: expect.stringContaining("use --yes"),
    });
    expect(await cli.carillon(args, { input, answer: "n" })).toMatchObject({ code: 1 });
    expect(await get("cron:backup")).toMatchObject({ when: "0 3 * * *" });
    const { out } = await cli.carillon(args, { input, answer: "y" });
    expect(out).toContain('    when: "0 3 * * *" → "0 4 * * *"\n');
    expect(out).toContain("Created 0, changed 1, removed 0.");
    expect(await get("cron:backup")).toMatchObject({ when: "0 4 * * *", version: 2 });
  });

  test("A crontab with an impossible line is not imported, unless the line is skipped", async () => {
    const name = file("mixed", "@reboot /opt/boot\n0 1 * * * /opt/fine\n");
    const args = ["import", name, ...to, "--prefix", "mixed:", "--yes"];
    expect(await cli.carillon(args)).toMatchObject({
      code: 1,
      err: expect.stringContaining("--skip-impossible"),
    });
    expect((await cli.carillon(["ls", "mixed:", "--count"])).out).toBe("0\n");
    expect(await cli.carillon([...args, "--skip-impossible"])).toMatchObject({ code: 0 });
    expect((await cli.carillon(["ls", "mixed:", "--count"])).out).toBe("1\n");
  });

  test("A crontab needs a target for its commands", async () => {
    const name = file("alone", crontab);
    expect(await cli.carillon(["import", name])).toMatchObject({
      code: 2,
      err: expect.stringContaining("runs no shell"),
    });
    expect(await cli.carillon(["import", name, "--target", "shell"])).toMatchObject({ code: 2 });
    expect(await cli.carillon(["import", path.join(folder, "none"), ...to])).toMatchObject({ code: 2 });
  });
});

describe("carillon import of EventBridge", () => {
  test("A disabled schedule of EventBridge is imported paused, and one that has ended is skipped", async () => {
    const sqs = (name: string) => ({ Arn: `arn:aws:sqs:eu-central-1:123456789012:${name}`, Input: "{}" });
    const aws = file("aws/all.json", [
      { Name: "off", State: "DISABLED", ScheduleExpression: "rate(1 hour)", Target: sqs("a") },
      { Name: "past", ScheduleExpression: "at(2020-01-01T00:00:00)", Target: sqs("b") },
      {
        Name: "ended",
        ScheduleExpression: "rate(1 hour)",
        EndDate: "2021-01-01T00:00:00Z",
        Target: sqs("b"),
      },
      { Name: "next", ScheduleExpression: "at(2035-01-01T00:00:00)", Target: sqs("c") },
    ]);
    const { code, out } = await cli.carillon(["import", aws, "--prefix", "aws:", "--yes", "--json"]);
    expect(code).toBe(0);
    expect(lines(out)).toMatchObject([
      { key: "aws:off", change: "create", result: { status: 201 } },
      { key: "aws:past", change: "over" },
      { key: "aws:ended", change: "over" },
      { key: "aws:next", change: "create", next: ["2035-01-01T00:00:00.000Z"] },
    ]);
    expect(await get("aws:off")).toMatchObject({ state: "paused" });
    // After a resume, importing again must not pause the schedule.
    await cli.carillon(["resume", "aws:off"]);
    const again = await cli.carillon(["import", path.dirname(aws), "--prefix", "aws:", "--yes", "--json"]);
    expect(lines(again.out).map(({ change }) => change)).toEqual(["keep", "over", "over", "keep"]);
    expect(await get("aws:off")).toMatchObject({ state: "active", version: expect.any(Number) });
  });
});

describe("carillon import of a directory", () => {
  test("Keys follow the paths of files, and every fault names its file", async () => {
    file("dir/orders/daily.yaml", "when: '0 9 * * *'\ntarget: {queue: orders}\n");
    file(
      "dir/many.yml",
      "d:one:\n  when: every 1h\n  target: &t {queue: a}\nd:two:\n  when: every 2h\n  target: *t\n",
    );
    file("dir/list.json", [{ key: "d:three", when: "every 3h", target: { queue: "a" } }]);
    file("dir/.hidden/x.yaml", "nothing");
    file("dir/notes.txt", "nothing");
    const name = path.join(folder, "dir");
    const good = await cli.carillon(["import", name, "--dry-run", "--json"]);
    expect(lines(good.out).map(({ key }) => key)).toEqual(["d:three", "d:one", "d:two", "orders:daily"]);
    file("dir/star.yaml", "when: * * * * *\ntarget: {queue: a}\n");
    file("dir/broken.json", '{"when": "every 1h", "secret": hunter2');
    file("dir/nameless.json", [{ when: "every 1h", target: { queue: "a" } }]);
    file("dir/odd.yaml", "whne: every 1h\ntarget: {queue: a}\n");
    file("dir/big.yaml", "when: every 1h\ntarget: {queue: a}\npayload: 12345678901234567890\n");
    file("dir/loop.yaml", "when: every 1h\ntarget: {queue: a}\npayload: &p [*p]\n");
    file("dir/twice.yaml", "key: d:one\nwhen: every 1h\ntarget: {queue: a}\n");
    const { code, out, err } = await cli.carillon(["import", name, "--dry-run"]);
    expect(code).toBe(1);
    for (const told of [
      /star\.yaml\n {4}is not YAML: .*in quotes \(line 1, column \d+\)/,
      /broken\.json\n {4}is not JSON/,
      /nameless\.json \[0\]\n {4}key is required/,
      /odd \(odd\.yaml\)\n(.*\n)* {4}whne is not a field here/,
      /big\.yaml\n {4}The number 12345678901234567890 cannot be kept exactly/,
      /loop\.yaml\n {4}is nested too deep/,
      /d:one .*\n {4}its key occurs 2 times: many\.yml d:one, twice\.yaml/,
    ])
      expect(out).toMatch(told);
    expect(out + err).not.toContain("hunter2");
  });

  test("A directory is refused with every fault that the server finds, before any change", async () => {
    file("calendar/a.yaml", "when: every 1h\ntarget: {queue: a}\n");
    file("calendar/b.yaml", "when: 0 9 * * *\ncalendar: {name: unknown-one}\ntarget: {queue: a}\n");
    const { code, out } = await cli.carillon([
      "import",
      path.join(folder, "calendar"),
      "--prefix",
      "c:",
      "--yes",
    ]);
    expect(code).toBe(1);
    expect(out).toMatch(/! impossible c:b \(b\.yaml\)\n {4}calendar.*unknown-one/);
    expect((await cli.carillon(["ls", "c:", "--count"])).out).toBe("0\n");
  });
});
