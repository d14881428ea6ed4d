import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { borrowDatabase } from "../../lib/tools/testing/server/borrow-database.ts";
import { type InstalledApp, installedApp } from "../support/installed-app.ts";
import { onPath } from "../support/program.ts";

const jest = process.env["JEST_PATH"] ?? onPath(["jest"]);
const bun = process.env["BUN_PATH"] ?? onPath(["bun"]);

const imports = `
import { CarillonProblem } from "carillon";
import { defineJob } from "carillon/job";
import { testCarillon } from "carillon-dev/testing";
import assert from "node:assert/strict";
`;

const requires = `
const { CarillonProblem } = require("carillon");
const { defineJob } = require("carillon/job");
const { testCarillon } = require("carillon-dev/testing");
const assert = require("node:assert/strict");
`;

/** A file that stops its Carillon. */
const stops = `
test("thirty nights over the clock change", async () => {
  const ran = [];
  const report = defineJob({ name: "report", run: async ({ dueAt }) => void ran.push(dueAt.toISOString()) });
  const carillon = await testCarillon({ now: "2027-03-27T12:00:00Z", handlers: [report] });
  await carillon.put("report", { when: "30 2 * * *", timezone: "Europe/Berlin", target: { handler: "report" } });
  await carillon.advance("30d");
  assert.equal(ran.length, 30);
  assert.deepEqual(ran.slice(0, 2), ["2027-03-28T01:00:00.000Z", "2027-03-29T00:30:00.000Z"]);
  await carillon.stop();
});
`;

/** A file that forgets to. */
const forgets = `
test("faults, and a refusal that the app's own client knows", async () => {
  const carillon = await testCarillon({ now: "2027-06-01T10:00:00Z" });
  await assert.rejects(carillon.put("hook", { when: "no", target: { queue: "demo" } }), CarillonProblem);
  await carillon.put("hook", { when: "in 1h", target: { queue: "demo" } });
  carillon.failNext("hook", { error: "HTTP 503" });
  carillon.databaseRestarts();
  await carillon.advance("1d");
  assert.deepEqual(carillon.runs("hook").map(({ outcome }) => outcome), ["failed", "succeeded"]);
});
`;

// A runner starts and loads the kit in seconds, and takes many times as long on a busy machine.
describe("the installed test kit in the runners of an app", { timeout: 120_000 }, () => {
  let app: InstalledApp;

  beforeAll(async () => {
    app = await installedApp("docs/local.md");
    app.run("npm", "install", "--no-save", `${app.folder}/carillon/dist/packages/carillon-0.1.0.tgz`);
  }, 240_000);

  afterAll(async () => {
    // The server of the kit would stay for a minute.
    process.env["CARILLON_TEST_DIR"] = app.at("kit");
    const { pid, giveBack } = await borrowDatabase();
    delete process.env["CARILLON_TEST_DIR"];
    giveBack();
    process.kill(pid, "SIGTERM");
    app.remove();
  });

  /** Runs a runner until it ends by itself. */
  const run = (program: string, args: readonly string[], more: NodeJS.ProcessEnv = {}) => {
    const env = { PATH: process.env["PATH"], HOME: app.folder, CARILLON_TEST_DIR: app.at("kit"), ...more };
    const options = { cwd: app.at(), encoding: "utf8", env, timeout: 100_000 } as const;
    const { status, stdout, stderr } = spawnSync(program, args, options);
    return { status, printed: `${stdout}${stderr}` };
  };

  const passed = (...texts: string[]) => ({
    status: 0,
    printed: expect.stringMatching(new RegExp(texts.join("[^]*"))),
  });

  /** Two test files of a module system, with what the runner wants at their head. */
  const write = (folder: string, { head = "", ending = "js" }: { head?: string; ending?: "js" | "cjs" }) => {
    mkdirSync(app.at(folder), { recursive: true });
    const above = `${head}\n${ending === "js" ? imports : requires}`;
    app.write(`${folder}/stops.test.${ending}`, above + stops);
    app.write(`${folder}/forgets.test.${ending}`, above + forgets);
  };

  test("node:test runs files side by side, also CommonJS, and ends although one forgets to stop", () => {
    write("node", { head: 'import { test } from "node:test";' });
    write("node", { head: 'const { test } = require("node:test");', ending: "cjs" });
    expect(run(process.execPath, ["--test", "node/*"])).toEqual(passed("pass 4"));
  });

  test.runIf(jest !== undefined)("jest does too (needs jest on the PATH, or as JEST_PATH)", () => {
    write("jest", {});
    write("jest", { ending: "cjs" });
    app.write("jest.config.js", "export default { transform: {}, roots: ['jest'], testTimeout: 30_000 };");
    const ended = run(jest ?? "", ["--ci"], { NODE_OPTIONS: "--experimental-vm-modules" });
    expect(ended).toEqual(passed("Tests: +4 passed, 4 total"));
    expect(ended.printed).not.toMatch(/did not exit|failed to exit/);
  });

  test.runIf(bun !== undefined)("bun does too (needs bun on the PATH, or as BUN_PATH)", () => {
    write("bun", { head: 'import { test } from "bun:test";' });
    expect(run(bun ?? "", ["test", "--parallel", "--no-isolate", "--timeout=30000", "./bun/"])).toEqual(
      passed("2 pass", "0 fail"),
    );
  });
});
