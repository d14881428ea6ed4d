import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DataDirInUse, openDataDir } from "../../lib/tools/local/data-dir.ts";
import { borrowDatabase } from "../../lib/tools/testing/server/borrow-database.ts";
import { withLinkedModules, withoutNetwork } from "../support/linked-modules.ts";
import { packedPackages } from "../support/packed-packages.ts";
import { until } from "../support/until.ts";

const page = readFileSync(path.join(import.meta.dirname, "..", "..", "docs", "start.md"), "utf8");
const blocksIn = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, "gms"))].map(([, block = ""]) => block);

/** The commands of the page, in their order. */
const [clone, make, install, runTests, start, first, remind, synth, ...more] = blocksIn("sh");
const [ownHandlers = "", ...otherFiles] = blocksIn("ts");

// Each test starts programs, which take seconds, and many times as long on a busy machine.
describe("docs/start.md, from an empty folder, with tarballs instead of a registry", {
  timeout: 240_000,
}, () => {
  let folder: string;
  let app: string;
  let env: NodeJS.ProcessEnv;
  let stack: ChildProcess | undefined;

  const at = (...parts: string[]) => path.join(app, ...parts);
  const run = (block = "", cwd = app) =>
    execFileSync("bash", ["-euc", block], { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], env });
  /** Repeats a command that reads, until it prints the text. */
  const printed = (block: string, text: string) =>
    until(`${block} has printed ${text}`, async () => run(block).includes(text));

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), "cs-"));
    app = path.join(folder, "my-app");
    const kit = path.join(folder, "kit");
    env = { ...withoutNetwork(folder), NO_COLOR: "1", CARILLON_TEST_DIR: kit };
    mkdirSync(path.join(folder, "carillon", "dist"), { recursive: true });
    symlinkSync(await packedPackages(), path.join(folder, "carillon", "dist", "packages"));
    run(make, folder);
    const manifest = JSON.parse(readFileSync(at("package.json"), "utf8"));
    writeFileSync(at("package.json"), JSON.stringify(withLinkedModules(manifest)));
    run(install, folder);
  }, 400_000);

  afterAll(async () => {
    await stopped(stack, at(".carillon"));
    await stopKitServer(path.join(folder, "kit"));
    rmSync(folder, { recursive: true, force: true });
  });

  test("the page has no commands and no files beside those that are run here", () => {
    expect(clone).toBe("git clone <this repository> carillon\n(cd carillon && npm ci && npm run pack:all)\n");
    expect([more, otherFiles]).toEqual([[], []]);
  });

  test("the tests of a new project pass", () => {
    const said = run(runTests);
    expect(said).toMatch(/Tests +2 passed/);
    process.stdout.write(`npm test of a new project:${/Duration .*/.exec(said)?.[0] ?? ""}\n`);
  });

  test("a new project is synthesised with its handler and schedules, without network and account", () => {
    run(synth);
    const template = readFileSync(at("cdk.out", "my-app.template.json"), "utf8");
    const { Resources } = JSON.parse(template);
    const keys = Object.values<{ Type: string; Properties: { key?: string } }>(Resources)
      .filter(({ Type }) => Type === "Custom::CarillonSchedule")
      .map(({ Properties }) => Properties.key);
    expect(keys).toEqual(["report:nightly", "report:weekly"]);
  });

  test("a new project is not synthesised by a Node that is too old, which gets one sentence", () => {
    const { app: command } = JSON.parse(readFileSync(at("cdk.json"), "utf8"));
    const pretend = `Object.defineProperty(process.versions, "node", { value: "20.18.1" })`;
    const older = command.replace(/^node /, `node --import 'data:text/javascript,${encodeURI(pretend)}' `);
    const { status, stdout, stderr } = spawnSync("sh", ["-c", older], { cwd: app, encoding: "utf8", env });
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toBe("carillon needs Node 22.18 or newer; this is Node 20.18.1.\n");
  });

  test("a new project runs its handler, loads a changed one within the run, and keeps the data", async () => {
    const ports = { CARILLON_PORT: "0", CARILLON_SQS_PORT: "0", CARILLON_EVENTS_PORT: "0" };
    stack = spawn("bash", ["-euc", start ?? ""], {
      cwd: app,
      env: { ...env, ...ports },
      stdio: "ignore",
      detached: true,
    });
    await until("the stack is up", async () => existsSync(at(".carillon", "url")));

    await printed("npx carillon ls", "report:nightly");
    run("npx carillon fire report:nightly");
    await printed("npx carillon jobs report:nightly", "succeeded");
    run(first);
    await printed("npx carillon jobs first", "succeeded");

    writeFileSync(at("carillon", "handlers.ts"), ownHandlers);
    const [put = "", , look = ""] = (remind ?? "").trim().split("\n");
    await until("the changed handlers are loaded", async () => {
      try {
        return run(put) !== "";
      } catch {
        // The API refuses a handler that it does not know yet.
        return false;
      }
    });
    await printed(look, "succeeded");
    expect(run("npx carillon jobs first")).toContain("succeeded");
    // The changed file is still part of the project's types.
    run("npm run types");
  });
});

/** Ends the stack with what it has started, and waits until its data directory is free. */
async function stopped(child: ChildProcess | undefined, dataDir: string): Promise<void> {
  if (child?.pid === undefined) return;
  process.kill(-child.pid, "SIGTERM");
  await until("the stack has stopped", async () => {
    try {
      openDataDir(dataDir).release();
      return true;
    } catch (error) {
      if (error instanceof DataDirInUse) return false;
      throw error;
    }
  });
}

/** The project's tests have started a server that would stay for a minute. */
async function stopKitServer(kit: string): Promise<void> {
  process.env["CARILLON_TEST_DIR"] = kit;
  const { pid, giveBack } = await borrowDatabase();
  delete process.env["CARILLON_TEST_DIR"];
  giveBack();
  process.kill(pid, "SIGTERM");
  await until("the server has ended", async () => {
    try {
      process.kill(pid, 0);
      return false;
    } catch {
      return true;
    }
  });
}
