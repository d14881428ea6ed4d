import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { DataDirInUse, openDataDir } from "../../lib/tools/local/data-dir.ts";
import { endOf } from "../local/local-stack.ts";
import { until } from "../support/until.ts";
import { type DevProcess, failedDev, startDev } from "./dev-process.ts";
import { handlersFile, newProject, type Project, schedulesFile, wordsFile } from "./project.ts";

const cliProgram = path.join(import.meta.dirname, "..", "..", "lib", "cli", "main.ts");

const hourly = { key: "hourly", when: "every 1h", target: { handler: "speak" } };
const nightly = { key: "nightly", when: "0 3 * * *", target: { handler: "speak" } };

const listed = z.object({ items: z.array(z.object({ key: z.string(), tags: z.array(z.string()) })) });

async function keysIn(dev: DevProcess): Promise<string[]> {
  const { items } = listed.parse(await (await dev.request("GET", "/v1/schedules")).json());
  const keys = items.map(({ key }) => key).sort();
  // Those of single jobs stay until a tick removes them.
  return keys.filter((key) => key !== "speak" && key !== "fail");
}

// A start takes seconds, and many times as long on a busy machine.
describe("carillon dev in a project with the names of the convention", { timeout: 120_000 }, () => {
  let project: Project;
  let dev: DevProcess;

  beforeAll(async () => {
    project = newProject({
      "carillon/handlers.ts": handlersFile,
      "carillon/words.ts": wordsFile("no\n\u001b[31mway"),
      "carillon/schedules.ts": schedulesFile(hourly, nightly),
      "src/handlers.ts": handlersFile,
    });
    dev = await startDev(project.folder, { args: ["--port=0"] });
  }, 120_000);

  afterAll(async () => {
    await dev.end();
    project.remove();
  });

  const enqueue = async (handler: string, retry: object = { attempts: 1 }) =>
    expect((await dev.request("POST", "/v1/jobs", { key: handler, target: { handler }, retry })).status).toBe(
      202,
    );

  test("carillon dev finds handlers and schedules by their names, and says where and what it did not use", () => {
    expect(dev.printed()).toContain(
      "handlers   speak, fail, from carillon/handlers.ts; not used: src/handlers.ts",
    );
    expect(dev.printed()).toContain("schedules  2 schedules: +hourly +nightly, from carillon/schedules.ts");
    expect(dev.printed()).toMatch(
      /^page {7}http:\/\/127\.0\.0\.1:\d+\/#token=test-token {2}\(the link signs in\)$/m,
    );
  });

  test("carillon dev prints one line for a job that ended, one for what its handler logs, and no log of functions", async () => {
    await enqueue("speak");
    expect(await dev.line(/ succeeded {2}speak/)).toMatch(
      /^\d\d:\d\d:\d\d {2}succeeded {2}speak +handler speak +\d+ ms$/,
    );
    expect(await dev.line(/spoken/)).toMatch(/^\d\d:\d\d:\d\d {2}log +spoken/);
    expect(dev.printed()).not.toContain("/v1/jobs →");
  });

  test("carillon dev names the next try of a failed job, and its error on the same line without control characters", async () => {
    await enqueue("fail", { attempts: 2, backoff: "fixed", base: "2s" });
    expect(await dev.line(/ retrying {3}fail/)).toMatch(
      /handler fail +- {2}try 1 {2}next try at \d\d:\d\d:\d\d: Error: no \ufffd?\[?31m?/,
    );
    expect(await dev.line(/ dead {7}fail/)).toMatch(/handler fail +\d+ ms {2}try 2 {2}Error: no/);
    expect(dev.printed()).not.toContain("\u001b");
  });

  test("carillon dev loads changed handlers, and keeps the ones before where a change cannot be loaded, with the place of the fault", async () => {
    project.write("carillon/words.ts", "export const words = (;\n");
    expect(await dev.line(/handlers +the ones before stay/)).toMatch(
      /the ones before stay: carillon\/words\.ts:1: SyntaxError: /,
    );
    project.write("carillon/words.ts", wordsFile("other words"));
    await dev.line(/handlers +loaded again: speak, fail/);
    await enqueue("fail");
    await dev.line(/ dead {7}fail .*Error: other words/);
  });

  test("carillon dev applies changed schedules, removes its own that are no more in the file, and leaves those of others", async () => {
    const other = { when: "every 1d", target: { handler: "speak" } };
    expect((await dev.request("PUT", "/v1/schedules/of-others", other)).status).toBe(201);
    project.write("carillon/schedules.ts", schedulesFile({ ...hourly, when: "every 2h" }));
    await dev.line(/schedules +1 schedule: ~hourly −nightly$/);
    expect(await keysIn(dev)).toEqual(["hourly", "of-others"]);
  });

  test("carillon dev keeps the schedules before a fault, and names its file, its position and its key", async () => {
    project.write("carillon/schedules.ts", schedulesFile({ ...hourly, when: "every 2x" }, nightly));
    await dev.line(/schedules +carillon\/schedules\.ts \[0\] \(hourly\): when .*"x" is no unit/);
    project.write("carillon/schedules.ts", "export const schedules = [;\n");
    await dev.line(/schedules +carillon\/schedules\.ts:1: SyntaxError: /);
    project.write("carillon/schedules.ts", schedulesFile({ ...hourly, key: "of-others" }));
    await dev.line(
      /\(of-others\): it exists and this set did not make it .*: delete it, or choose another key/,
    );
    expect(await keysIn(dev)).toEqual(["hourly", "of-others"]);
  });

  test("a webhook to a private address is refused with the option that allows it", async () => {
    const body = { when: "every 1d", target: { webhook: { url: "http://localhost:3000/in" } } };
    const answer = await dev.request("PUT", "/v1/schedules/hook", body);
    expect(answer.status).toBe(422);
    expect(await answer.text()).toContain("carillon dev --webhooks localhost:3000 allows it on this machine");
  });

  test("a second carillon dev on the same data is refused with the address of the running one", async () => {
    const { code, said } = await failedDev(project.folder);
    expect(code).toBe(1);
    expect(said).toMatch(
      /^Another Carillon is running on the data directory \S.*, at http:\S+\. Stop it first/,
    );
    expect(said).toContain(dev.api);
    expect(said).toContain("--data");
  });
});

describe("carillon dev", { timeout: 120_000 }, () => {
  let projects: Project[] = [];
  const project = (files: Record<string, string>) => {
    const made = newProject(files);
    projects.push(made);
    return made;
  };
  afterEach(() => {
    for (const each of projects) each.remove();
    projects = [];
  });

  test("two projects side by side have addresses of their own, and the same ones at the next start", async () => {
    const [one, other] = [project({}), project({})];
    const first = await startDev(one.folder);
    const second = await startDev(other.folder);
    expect(second.api).not.toBe(first.api);
    expect(second.printed()).toMatch(
      /^api .*\(\d+ is in use by another program; the next start in this folder/m,
    );
    expect(first.printed()).toContain("handlers   none: there is no carillon/handlers.ts, src/handlers.ts");
    expect(first.printed()).toContain("schedules  none: there is no carillon/schedules.ts");
    expect((await first.end()).code).toBe(0);
    await second.end();
    const again = await startDev(other.folder);
    onTestFinished(async () => void (await again.end()));
    expect(again.api).toBe(second.api);
    expect(again.printed()).toMatch(/^api .*\(as at the last start in this folder\)$/m);
  });

  test("files of a folder are schedules too, a new file counts, and --webhooks lets a job reach localhost", async () => {
    const asked: string[] = [];
    const app = createServer((request, response) => {
      asked.push(request.url ?? "");
      response.end();
    });
    await new Promise<void>((resolve) => app.listen(0, "localhost", resolve));
    onTestFinished(() => void app.close());
    const { port } = app.address() as AddressInfo;
    const own = project({ "schedules/hook.yaml": yaml(`http://localhost:${port}/in`) });
    const dev = await startDev(own.folder, { args: ["--port=0", `--webhooks=localhost:${port}`] });
    onTestFinished(async () => void (await dev.end()));
    expect(dev.printed()).toContain("schedules  1 schedule: +hook, from schedules");
    expect(dev.printed()).toContain(`webhooks   may reach localhost:${port}`);
    expect((await dev.request("POST", "/v1/schedules/hook/fire", {})).ok).toBe(true);
    await dev.line(new RegExp(` succeeded {2}hook +webhook localhost:${port}`));
    expect(asked).toEqual(["/in"]);
    own.write("schedules/more/second.yaml", yaml("https://example.com/"));
    await dev.line(/schedules +2 schedules: \+more:second$/);
  });

  test("the CLI runs the program of the package, which stops when the CLI is stopped or killed", async () => {
    const own = project({});
    const cli = { args: ["--port=0"], program: [cliProgram, "dev"] } as const;
    const stopped = await startDev(own.folder, cli);
    expect(await stopped.end()).toMatchObject({ code: 0 });
    const killed = await startDev(own.folder, cli);
    killed.child.kill("SIGKILL");
    // The data is free again when the program has ended.
    const free = await until("the program has ended", async () => {
      try {
        return openDataDir(path.join(own.folder, ".carillon"));
      } catch (error) {
        if (error instanceof DataDirInUse) return undefined;
        throw error;
      }
    });
    free.release();
  });

  test("a handler that blocks the process, and one that exits it, are named with the keys of their jobs", async () => {
    const own = project({ "carillon/handlers.ts": harmfulFile });
    for (const [name, line] of [
      ["blocks", /^The process has been blocked for 10 s while blocks \(job of blocks:1\) ran: /m],
      ["exits", /^The process ends with code 3 while exits \(job of exits:1\) ran: /m],
    ] as const) {
      const dev = await startDev(own.folder, { args: ["--port=0"] });
      const job = { key: `${name}:1`, target: { handler: name }, retry: { attempts: 1 } };
      // The handler may run, and end the process, before the answer has left it.
      const answered = await dev.request("POST", "/v1/jobs", job).catch(() => null);
      if (answered !== null) expect(answered.status).toBe(202);
      await until(name, async () => line.test(dev.printed()) || undefined);
      await endOf(dev.child, "SIGKILL");
    }
    // The next start goes on with the data, and stops the Postgres that was left behind.
    const next = await startDev(own.folder, { args: ["--port=0"] });
    expect((await next.end()).code).toBe(0);
  });

  test("handlers that cannot be loaded end the start with the place of the fault, before any job runs without them", async () => {
    const own = project({ "handlers.js": "export const handlers = [;\n" });
    expect(await failedDev(own.folder, { args: ["--port=0"] })).toEqual({
      code: 1,
      said: expect.stringMatching(/^The handlers cannot be loaded: handlers\.js:1: SyntaxError: /),
    });
  });

  test.each([
    [["--prot=1"], "dev has no option --prot. Did you mean --port?"],
    [["--port=x"], "--port takes a whole number from 0 to 65535"],
    [["--log=loud"], '--log takes text or json, not "loud".'],
    [
      ["--webhooks=localhost"],
      '--webhooks takes host:port, such as localhost:3000, several with commas; not "localhost".',
    ],
    [["--hosts=http://a.test"], '--hosts has "http://a.test"; it takes names or addresses of hosts'],
    [["--url=http://localhost"], "dev takes no --url: it runs an API of its own"],
    [["now"], 'dev takes no argument "now".'],
  ])("the command line %j is refused with a sentence, and exits with 2", async (args, sentence) => {
    const { code, said } = await failedDev(project({}).folder, { args });
    expect(said).toContain(sentence);
    expect(code).toBe(2);
  });
});

const harmfulFile = `
import { defineJob } from "carillon/job";

export const handlers = [
  defineJob({ name: "blocks", run: async () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0) }),
  defineJob({ name: "exits", run: async () => process.exit(3) }),
];
`;

const yaml = (url: string) => `when: every 1d\ntarget: { webhook: { url: "${url}" } }\n`;
