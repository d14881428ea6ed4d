import { mkdirSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import path from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { checkApi, clockCheck } from "../../lib/cli/doctor/check-api.ts";
import { exitCodes } from "../../lib/cli/exit-codes.ts";
import { Carillon } from "../../lib/client/main.ts";
import { openDataDir } from "../../lib/tools/local/data-dir.ts";
import { type OwnCli, ownCli } from "../cli/own-cli.ts";
import { handlersFile, newProject, type Project, schedulesFile, wordsFile } from "./project.ts";

const answer = z.object({
  ok: z.boolean(),
  checks: z.array(z.object({ name: z.string(), state: z.string(), text: z.string() })),
});

const good = {
  "carillon/handlers.ts": handlersFile,
  "carillon/words.ts": wordsFile("no"),
  "carillon/schedules.ts": schedulesFile({ key: "hourly", when: "every 1h", target: { handler: "speak" } }),
};

describe("carillon doctor", { timeout: 120_000 }, () => {
  let cli: OwnCli;
  let projects: Project[] = [];
  beforeAll(async () => {
    cli = await ownCli();
  });
  afterAll(() => cli.stop());
  afterEach(() => {
    for (const each of projects) each.remove();
    projects = [];
  });

  const project = (files: Record<string, string>, version?: string | null) => {
    const made = newProject(files, version);
    projects.push(made);
    return made;
  };

  /** Without an address and a token, unless the test gives some. */
  const nowhere = { CARILLON_URL: "", CARILLON_TOKEN: "" };

  async function examined(folder: string, env: Record<string, string> = nowhere) {
    const { code, out, err } = await cli.spawned(["doctor", "--json"], { cwd: folder, env });
    expect(err).toBe("");
    const { ok, checks } = answer.parse(JSON.parse(out));
    const wrong = checks.filter(({ state }) => state === "wrong");
    expect([ok, code]).toEqual(wrong.length === 0 ? [true, exitCodes.done] : [false, exitCodes.refused]);
    return { wrong, of: (name: string) => checks.find((each) => each.name === name) };
  }

  test("a good project has no fault, and exits with 0", async () => {
    const { wrong, of } = await examined(project(good).folder);
    expect(wrong).toEqual([]);
    expect(of("node")?.text).toContain(process.versions.node);
    expect(of("postgres")?.text).toContain("PostgreSQL");
    expect(of("data")?.text).toMatch(/\.carillon will be made$/);
    expect(of("ports")?.text).toMatch(/^\d+, \d+ and \d+ are free/);
    expect(of("handlers")).toMatchObject({ state: "good", text: "speak, fail, from carillon/handlers.ts" });
    expect(of("schedules")).toMatchObject({ state: "good", text: "1 from carillon/schedules.ts" });
  });

  test("a deployment that answers has no fault, and its token and time-zone data are named", async () => {
    const { out } = await cli.carillon(["doctor", "--json"]);
    const { checks } = answer.parse(JSON.parse(out));
    const of = (name: string) => checks.find((each) => each.name === name);
    expect(of("api")).toMatchObject({ state: "good", text: `${cli.url} answers` });
    expect(of("token")?.text).toContain("(admin)");
    expect(of("clock")?.state).toBe("good");
    expect(of("zones")?.text).toContain(process.versions["tz"]);
    // The CLI of the test has another version than this repository.
    expect(checks.flatMap(({ name, state }) => (state === "wrong" ? [name] : []))).toEqual(["packages"]);
  });

  test("stored schedules whose events the deployment no longer allows are a fault, with one of them", async () => {
    const own = await ownCli();
    onTestFinished(() => own.stop());
    const client = new Carillon({ url: own.url, token: "admin-token" });
    const { signal } = new AbortController();
    const check = async () => {
      const checks = await checkApi({ client, url: own.url, isNamed: true, signal, now: Date.now });
      return checks.find(({ name }) => name === "events");
    };
    expect(await check()).toMatchObject({ state: "none", text: "no schedule sends an event" });
    for (const key of ["a", "b", "c"])
      await client.schedules.put(key, { when: "every 1d", target: { event: { bus: "orders" } } });
    expect(await check()).toMatchObject({ state: "good", text: "the events of 3 schedules are allowed" });
    // As a deployment left them whose setting had another source.
    await own.api.sql`
      update carillon.schedule_versions v set target = jsonb_set(v.target, '{event,source}', '"shop"')
      from carillon.schedules s where s.id = v.schedule_id and s.key in ('b', 'c')`;
    expect(await check()).toMatchObject({
      state: "wrong",
      text: expect.stringMatching(
        /^2 schedules, such as b: target\.event\.source is not among .* carillon: allow it/,
      ),
    });
  });

  test("a clock that differs from the database's is a fault, with how much", async () => {
    const client = new Carillon({ url: cli.url, token: "admin-token" });
    const now = () => cli.api.clock.now().getTime() + 60_000;
    const { signal } = new AbortController();
    const checks = await checkApi({ client, url: cli.url, isNamed: true, signal, now });
    expect(checks.find(({ name }) => name === "clock")).toMatchObject({
      state: "wrong",
      text: expect.stringMatching(/^this machine is 60\.0 s ahead of the database/),
    });
  });

  test("two clocks that agree are named with the largest difference that the measurement allows", () => {
    const asOf = Date.parse("2026-12-01T09:00:00.000Z");
    expect(clockCheck(asOf, { before: asOf - 4, after: asOf + 36 })).toEqual({
      name: "clock",
      state: "good",
      text: "this machine and the database differ by at most 36 ms",
    });
  });

  test("a package that the local stack misses is named, and not the place in Node's code", async () => {
    const { folder, write } = project({});
    write("node_modules/carillon-dev/dev.js", 'await import("not-there");\n');
    const { wrong } = await examined(folder);
    expect(wrong).toMatchObject([
      {
        name: "dev",
        text: expect.stringMatching(
          /^carillon-dev cannot check this project: Cannot find package 'not-there' /,
        ),
      },
    ]);
  });

  test("a broken project has a line for each fault, which says what to do, and exits with 1", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const broken = project(
      {
        "handlers.ts": "export const handlers = [];\nexport const more = (;\n",
        "schedules.ts": schedulesFile({ key: "x", when: "every 1x", target: {} }),
      },
      "0.0.9",
    );
    const env = { CARILLON_URL: "http://127.0.0.1:9", CARILLON_TOKEN: "x", CARILLON_PORT: String(port) };
    const { wrong } = await examined(broken.folder, env);
    const textOf = Object.fromEntries(wrong.map(({ name, text }) => [name, text]));
    expect(textOf).toEqual({
      packages: expect.stringMatching(/carillon-dev 0\.0\.9.*install the same version of each$/),
      ports: expect.stringMatching(
        `^Port ${port} of 127.0.0.1 is taken by another program.*set CARILLON_PORT`,
      ),
      handlers: expect.stringMatching(/^handlers\.ts:2: SyntaxError: /),
      schedules: expect.stringMatching(/^schedules\.ts \[0\] \(x\): target takes .*"x" is no unit/),
      api: expect.stringMatching(/^http:\/\/127\.0\.0\.1:9: /),
    });
  });

  describe("each schedule is read as the stack reads it at its start", () => {
    const handlers = `
import { defineJob } from "carillon/job";
import * as z from "zod";
export const handlers = [defineJob({ name: "report", payload: z.strictObject({ days: z.int() }), run: async () => {} })];
`;
    const report = { when: "@daily", target: { handler: "report" }, payload: { days: 1 } };

    test("all schedules that a start would refuse are named, each with its key and the path of each fault", async () => {
      const entries = [
        { key: "good", ...report },
        { key: "past", ...report, when: "at 2020-01-01T00:00:00Z" },
        { key: "cron", ...report, when: "0 25 * * *" },
        { key: "days", ...report, payload: { days: "one" } },
        { key: "renamed", ...report, target: { handler: "raport" }, timeout: "1y" },
        { key: "same", ...report },
        { key: "same", ...report },
        { key: "moving", ...report, when: "in 3h" },
        { key: "never", ...report, when: "0 0 30 2 *" },
        { key: "hook", ...report, target: { webhook: { url: "http://127.0.0.1:4000/" } } },
        { when: "@daily", target: { handler: "report" } },
        { key: "event", ...report, target: { event: { source: "billing" } } },
        { key: "good-event", ...report, target: { event: { source: "shop" } } },
      ];
      const files = { "handlers.ts": handlers, "schedules.ts": schedulesFile(...entries) };
      const env = { ...nowhere, CARILLON_TARGET_EVENT_SOURCES: "shop" };
      const { wrong } = await examined(project(files).folder, env);
      expect(wrong.map(({ name }) => name)).toEqual(["schedules"]);
      const same = "schedules.ts [5], schedules.ts [6]";
      expect(wrong[0]?.text.split("; schedules.ts ")).toEqual([
        expect.stringMatching(/^schedules\.ts \[2\] \(cron\): when .*position/),
        expect.stringMatching(/^\[3\] \(days\): payload\.days /),
        expect.stringMatching(/^\[4\] \(renamed\): timeout /),
        "[4] (renamed): target.handler is not the name of a handler; the handlers are report",
        `[5] (same): its key occurs 2 times: ${same}`,
        `[6] (same): its key occurs 2 times: ${same}`,
        "[7] (moving): when is relative to now, so each start would move it: write `at …`",
        expect.stringMatching(/^\[8\] \(never\): when /),
        expect.stringMatching(/^\[9\] \(hook\): target\.webhook\.url .*--webhooks/),
        expect.stringMatching(/^\[10\]: key is required/),
        expect.stringMatching(/^\[11\] \(event\): target\.event\.source is not among .* allowed are shop$/),
      ]);
    });

    test("without a module of handlers, a schedule that names one is refused", async () => {
      const files = { "schedules.ts": schedulesFile({ key: "daily", ...report }) };
      const { wrong } = await examined(project(files).folder);
      expect(wrong).toMatchObject([
        {
          name: "schedules",
          text: "schedules.ts [0] (daily): target.handler is not the name of a handler; there is no handler here",
        },
      ]);
    });

    test("where the handlers cannot be loaded, that is the only fault of a schedule that names one", async () => {
      const files = {
        "handlers.ts": "export const handlers = 1;\n",
        "schedules.ts": schedulesFile({ key: "daily", ...report }),
      };
      const { wrong } = await examined(project(files).folder);
      expect(wrong.map(({ name }) => name)).toEqual(["handlers"]);
    });
  });

  test("a token that the API refuses is a fault, and the API is not", async () => {
    const { wrong, of } = await examined(project({}).folder, { CARILLON_TOKEN: "another" });
    expect(wrong.map(({ name }) => name)).toEqual(["token"]);
    expect(of("api")?.state).toBe("good");
  });

  test("without carillon-dev and without an API, the checks that need them say how to get them", async () => {
    const { wrong, of } = await examined(project(good, null).folder);
    expect(wrong).toEqual([]);
    expect(of("dev")).toMatchObject({ state: "none", text: expect.stringMatching(/npm install --save-dev/) });
    expect(of("api")).toMatchObject({
      state: "none",
      text: expect.stringMatching(/carillon dev starts one/),
    });
  });

  test("a data directory in use is named with the address of the Carillon that uses it", async () => {
    const { folder, write } = project({});
    mkdirSync(path.join(folder, ".carillon"));
    write(".carillon/url", "http://127.0.0.1:1\n");
    const dataDir = openDataDir(path.join(folder, ".carillon"));
    onTestFinished(() => dataDir.release());
    const { of } = await examined(folder);
    expect(of("data")).toMatchObject({
      state: "good",
      text: expect.stringMatching(/\.carillon is in use by the local stack at http:\/\/127\.0\.0\.1:1$/),
    });
    expect(of("ports")?.state).toBe("none");
  });

  test("the lines for people begin with a sign, and name the check", async () => {
    const { folder } = project({});
    const { out } = await cli.spawned(["doctor"], { cwd: folder });
    expect(out).toMatch(/^✓ node +\d/m);
    expect(out).toMatch(/^– handlers +there is no carillon\/handlers\.ts/m);
  });
});

describe("carillon dev without its package", () => {
  test("carillon dev says which package is missing, and exits with 2", async () => {
    const cli = await ownCli();
    onTestFinished(() => cli.stop());
    const made = newProject({}, null);
    onTestFinished(made.remove);
    const { code, err } = await cli.spawned(["dev"], { cwd: made.folder });
    expect(err).toContain("npm install --save-dev carillon-dev");
    expect(code).toBe(exitCodes.usage);
  });
});
