import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type OwnCli, ownCli } from "./own-cli.ts";

let cli: OwnCli;

beforeAll(async () => {
  cli = await ownCli();
});

afterAll(() => cli.stop());

const put = (key: string, ...more: string[]) =>
  cli.carillon(["put", key, "--when", "every 1h", "--queue", "demo", ...more]);

const jsonLines = (text: string): unknown[] =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

describe("schedules", () => {
  test("Schedules are put, read, changed and deleted", async () => {
    expect(await put("a:1", "--payload", '{"n":1}', "--tag", "x", "--tag", "y")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^Created a:1 \(version 1\): every hour/),
    });
    expect(await cli.carillon(["get", "a:1"])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/payload +\{"n":1\}\ntags +x, y\n/),
    });
    const changed = await cli.carillon(["patch", "a:1", "--when", "every 2h", "--if-match", "1"]);
    expect(changed.out).toMatch(/^Changed a:1 \(version 2\): every 2 hours/);
    expect(await cli.carillon(["patch", "a:1", "--when", "every 3h", "--if-match", "1"])).toMatchObject({
      code: 5,
      err: "The schedule a:1 is at version 2. (412)\n",
    });
    expect(await cli.carillon(["rm", "a:1"])).toMatchObject({ code: 0, out: "Deleted a:1.\n" });
    expect(await cli.carillon(["get", "a:1"])).toMatchObject({
      code: 4,
      out: "",
      err: "There is no schedule a:1. (404)\ncarillon explain a:1 shows whether it was deleted.\n",
    });
  });

  test("Schedules come from a file or stdin, and options override them", async () => {
    const file = { when: "every 1h", target: { queue: "demo" }, key: "f:1", group: "g" };
    const parts = { input: JSON.stringify(file) };
    expect((await cli.carillon(["put", "--file", "-", "--group", "h", "--json"], parts)).code).toBe(0);
    expect(JSON.parse((await cli.carillon(["get", "f:1", "--json"])).out)).toMatchObject({
      key: "f:1",
      group: "h",
      when: "every 1h",
    });
  });

  test("A dry run shows what would change and when the schedule would run, without saving it", async () => {
    await put("dry:1");
    expect((await put("dry:1", "--dry-run")).out).toMatch(/^Would not change dry:1: every hour/);
    const change = ["put", "dry:1", "--when", "0 9 * * *", "--queue", "demo", "--dry-run"];
    const { code, out } = await cli.carillon(change);
    expect(code).toBe(0);
    expect(out).toMatch(/^Would change dry:1: .*\n {2}when: "every 1h" → "0 9 \* \* \*"\n/);
    expect(out.split("\n").filter((line) => line.includes(" 09:00:00"))).toHaveLength(5);
    const made = await cli.carillon([
      "put",
      "dry:2",
      "--when",
      "every 1h",
      "--queue",
      "demo",
      "--dry-run",
      "--json",
    ]);
    expect(JSON.parse(made.out)).toMatchObject({ dryRun: true, creates: true, changes: [] });
    expect((await cli.carillon(["get", "dry:2"])).code).toBe(4);
    expect(JSON.parse((await cli.carillon(["get", "dry:1", "--json"])).out)).toMatchObject({ version: 1 });
  });

  test("Schedules are listed as a table for people and as JSON lines for machines", async () => {
    for (const name of ["l:1", "l:2", "l:3"]) await put(name);
    await cli.carillon(["pause", "l:2", "--reason", "later"]);
    const { out, err } = await cli.carillon(["ls", "l:", "--limit", "2"]);
    const [title, ...rows] = out.trimEnd().split("\n");
    expect(title).toMatch(/^KEY +STATE +NEXT \(\S+\) +WHEN +TARGET$/);
    expect(rows.map((row) => row.split(/ {2,}/).slice(0, 2))).toEqual([
      ["l:1", "active"],
      ["l:2", "paused"],
    ]);
    expect(err).toBe("These are the first 2 of 3: use --limit or --all.\n");
    const machine = await cli.carillon(["ls", "l:", "--all", "--json"]);
    expect(jsonLines(machine.out)).toMatchObject([{ key: "l:1" }, { key: "l:2" }, { key: "l:3" }]);
    expect((await cli.carillon(["ls", "l:", "--state", "paused", "--count"])).out).toBe("1\n");
    expect(await cli.carillon(["ls", "none:"])).toEqual({
      code: 0,
      out: "",
      err: "No schedule matches.\n",
    });
  });

  test("Schedules under a prefix are deleted after a confirmation", async () => {
    for (const name of ["d:1", "d:2"]) await put(name);
    const prefix = ["rm", "--prefix", "d:"];
    expect(await cli.carillon([...prefix, "--dry-run"])).toMatchObject({
      out: "d:1\nd:2\n2 schedules would be deleted.\n",
    });
    expect(await cli.carillon(prefix)).toMatchObject({ code: 1, err: expect.stringContaining("use --yes") });
    expect(await cli.carillon(prefix, { answer: "n" })).toMatchObject({
      code: 1,
      err: "Nothing was done.\n",
    });
    expect((await cli.carillon(["ls", "d:", "--count"])).out).toBe("2\n");
    expect(await cli.carillon(prefix, { answer: "y" })).toMatchObject({
      code: 0,
      out: "Deleted 2 schedules.\n",
    });
    expect((await cli.carillon(["ls", "d:", "--count"])).out).toBe("0\n");
  });
});

describe("times", () => {
  test("Occurrences are shown in the schedule's zone, with the notes that move them", async () => {
    const args = [
      "preview",
      "30 2 * * *",
      "--timezone",
      "Europe/Berlin",
      "--from",
      "2027-03-27T12:00:00Z",
      "-n",
      "2",
    ];
    const { code, out, err } = await cli.carillon(args);
    expect(code).toBe(0);
    const [, title, first] = out.split("\n");
    expect(title).toMatch(/^Europe\/Berlin +UTC +NOTE$/);
    expect(first).toMatch(
      /^2027-03-28 03:00:00\+02:00 +2027-03-28 01:00:00Z .*02:30 does not exist on this day/,
    );
    expect(err).toContain("it runs at 03:00 then");
    const machine = JSON.parse((await cli.carillon([...args, "--json"])).out);
    expect(machine.occurrences).toEqual(["2027-03-28T01:00:00.000Z", "2027-03-29T00:30:00.000Z"]);
  });

  test("An occurrence is explained", async () => {
    await put("why:1");
    const { code, out } = await cli.carillon(["explain", "why:1", "--at", "2030-01-01T00:30:00Z"]);
    expect(code).toBe(0);
    expect(out).toMatch(/\noutcome +(not-an-occurrence|planned|not-planned-yet)/);
    expect(await cli.carillon(["explain", "why:1", "--at", "tomorrow"])).toMatchObject({ code: 2 });
  });
});

describe("jobs", () => {
  test("Jobs are fired, found, cancelled and retried", async () => {
    await put("j:1");
    const fired = JSON.parse((await cli.carillon(["fire", "j:1", "--payload", "[1]", "--json"])).out);
    expect(fired).toMatchObject({ kind: "manual", payload: [1] });
    expect((await cli.carillon(["jobs", "j:1"])).out).toContain(fired.id);
    expect((await cli.carillon(["cancel", fired.id])).out).toMatch(/state +cancelled/);
    expect((await cli.carillon(["retry", fired.id])).out).toMatch(/state +waiting/);
    expect(await cli.carillon(["retry", fired.id, "1-1-c0"])).toMatchObject({
      code: expect.toSatisfy((code) => code === 4 || code === 5),
      err: expect.stringContaining(fired.id),
    });
    expect((await cli.carillon(["cancel", "--key", "j:1", "--yes"])).out).toMatch(/^Cancelled: 1 job/);
    expect(await cli.carillon(["cancel", "--yes"])).toMatchObject({ code: 2 });
  });

  test("Jobs are enqueued without a lasting schedule", async () => {
    const args = ["enqueue", "mail:1", "--queue", "mails", "--at", "in 1h", "--json"];
    expect(JSON.parse((await cli.carillon(args)).out)).toMatchObject({ key: "mail:1", state: "waiting" });
    expect(await cli.carillon([...args, "--if-exists", "refuse"])).toMatchObject({ code: 5 });
  });
});

describe("a token", () => {
  test("A new token's secret is the only text on stdout, and the token is found by its name", async () => {
    const made = await cli.carillon(["token", "create", "ci", "--scope", "write", "--expires", "in 90d"]);
    expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^carillon_\S+\n$/) });
    const secret = made.out.trim();
    expect(made.err).not.toContain(secret);
    expect((await cli.carillon(["ls"], { env: { CARILLON_TOKEN: secret } })).code).toBe(0);
    expect((await cli.carillon(["token", "ls"])).out).toMatch(/\nci +write/);
    expect((await cli.carillon(["token", "rotate", "ci", "--overlap", "0s"])).out).not.toBe(made.out);
    expect((await cli.carillon(["ls"], { env: { CARILLON_TOKEN: secret } })).code).toBe(1);
    expect((await cli.carillon(["token", "rm", "ci", "--yes"])).code).toBe(0);
  });
});

describe("a separate process", () => {
  test("A fault of the command line is reported with the likely correction", async () => {
    const usage = (...args: string[]) => cli.carillon(args);
    expect(await usage("pt", "x")).toMatchObject({
      code: 2,
      err: expect.stringContaining("Did you mean put?"),
    });
    expect(await usage("put", "x", "--wen", "every 1h")).toMatchObject({
      code: 2,
      err: "put has no option --wen. Did you mean --when?\nSee carillon help put.\n",
    });
    expect(await usage("get")).toMatchObject({ code: 2, err: expect.stringContaining("carillon get <key>") });
    expect(await usage("put", "x", "--queue")).toMatchObject({
      code: 2,
      err: expect.stringContaining("--queue <queue>"),
    });
    expect(await usage("put", "x", "--queue", "a", "--handler", "b")).toMatchObject({ code: 2 });
    expect(await usage("ls", "--timezone", "Mars")).toMatchObject({ code: 2 });
  });

  test("Each fault of a refused request is printed with its path", async () => {
    expect(await cli.carillon(["put", "x", "--when", "every 1y 2q"])).toMatchObject({
      code: 1,
      out: "",
      err: expect.stringMatching(/\(400\)\n {2}target takes [^\n]*\n(.*\n)?/),
    });
    const machine = await cli.carillon(["put", "x", "--when", "every 1h", "--json"]);
    expect(machine.out).toBe("");
    expect(JSON.parse(machine.err)).toMatchObject({ error: { status: 400, errors: [{ path: "target" }] } });
  });

  test("Output to a pipe has no colours and ends with its reader, and stdin is read", async () => {
    await put("p:1");
    const { code, out } = await cli.spawned(["ls", "p:"]);
    expect(code).toBe(0);
    expect(out).toContain("p:1");
    expect(out).not.toContain("\u001b");
    const read = await cli.spawned(["put", "p:2", "--when", "every 1h", "--queue", "q", "--payload", "-"], {
      input: '{"big":true}',
    });
    expect(read.code).toBe(0);
  });

  test("Tail prints each change of a job once, until Ctrl-C", async () => {
    await put("t:1");
    await cli.carillon(["fire", "t:1"]);
    const ended = await cli.spawned(["tail", "t:1", "--every", "1", "--json"], { interruptWhen: "\n" });
    expect(ended).toMatchObject({ code: 130, err: "" });
    const ids = jsonLines(ended.out).map((job) => JSON.stringify(job));
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("An unreachable server and a refusal have different exit codes", async () => {
    const away = await cli.spawned(["ls"], { env: { CARILLON_URL: "http://127.0.0.1:9" } });
    expect(away).toMatchObject({ code: 3, out: "" });
    expect(away.err).toContain("does not answer");
  });

  test("The token of the local stack is found, and is sent to that stack only", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "carillon-cli-"));
    mkdirSync(path.join(folder, ".carillon"));
    writeFileSync(path.join(folder, ".carillon", "token"), "admin-token\n");
    const env = { CARILLON_TOKEN: "" };
    const local = { CARILLON_URL: "", CARILLON_PORT: new URL(cli.url).port };
    expect(await cli.spawned(["ls", "--count"], { cwd: folder, env: { ...env, ...local } })).toMatchObject({
      code: 0,
    });
    const elsewhere = { ...env, CARILLON_URL: "https://carillon.example.com" };
    const refused = await cli.spawned(["ls"], { cwd: folder, env: elsewhere });
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining("A token is needed") });
    expect(refused.err).not.toContain("admin-token");
    rmSync(folder, { recursive: true });
  });
});

describe("a terminal", () => {
  test("A terminal gets colours unless they are turned off", async () => {
    await put("c:1");
    const tty = { width: 200 };
    expect((await cli.carillon(["ls", "c:"], { tty })).out).toContain("\u001b[32mactive");
    expect((await cli.carillon(["ls", "c:", "--no-color"], { tty })).out).not.toContain("\u001b");
    expect((await cli.carillon(["ls", "c:"], { tty, env: { NO_COLOR: "1" } })).out).not.toContain("\u001b");
    expect((await cli.carillon(["ls", "c:", "--json"], { tty })).out).not.toContain("\u001b");
  });

  test("A terminal gets lines no wider than itself", async () => {
    await put(`w:${"long-".repeat(20)}`, "--no-color");
    const { out } = await cli.carillon(["ls", "w:", "--no-color"], { tty: { width: 70 } });
    for (const line of out.trimEnd().split("\n")) expect(line.length).toBeLessThanOrEqual(70);
    expect(out).toContain("w:long-");
    expect(out).toContain("…");
  });

  test("Control characters in a caller's text do not reach the terminal", async () => {
    await put("e:1", "--description", "\u001b[2Jgone\u202e");
    const { out } = await cli.carillon(["get", "e:1"], { tty: { width: 100 }, env: { NO_COLOR: "1" } });
    expect(out).toContain("gone");
    for (const obeyed of ["\u001b", "\u202e"]) expect(out).not.toContain(obeyed);
  });

  test("`--json` prints control characters of a caller's text as escapes, which read as the same text", async () => {
    const description = "\u001b[2J\u009b31m\u202egone\u2028";
    await put("e:2", "--description", description);
    const { out } = await cli.carillon(["get", "e:2", "--json"], { tty: { width: 100 } });
    for (const obeyed of ["\u001b", "\u009b", "\u202e", "\u2028"]) expect(out).not.toContain(obeyed);
    expect(JSON.parse(out)).toMatchObject({ description });
  });
});
