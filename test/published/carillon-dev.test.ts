import { readdirSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { checksIn } from "../../lib/cli/doctor/check.ts";
import { type DevProcess, startDev } from "../dev/dev-process.ts";
import { type InstalledApp, installedApp } from "../support/installed-app.ts";
import { until } from "../support/until.ts";

/** The file that the construct takes, with a definition of the stack's own `carillon/job`. */
const handlers = `
import { again, defineJob, type JobHandler } from "carillon/job";

export const handlers: readonly JobHandler[] = [
  defineJob({
    name: "looks-twice",
    maxChecks: 1,
    run: async (job, { log }) => {
      log.info("looked", { n: JSON.stringify(job.payload) });
      return job.checks === 0 ? again("1s") : undefined;
    },
  }),
];
`;

/** Plain data: the package `carillon` has its type, and is not needed to run it. */
const schedules = `
export const schedules = [{ key: "later", when: "every 1h", target: { handler: "looks-twice" } }];
`;

const kitTypes = `
import { testCarillon } from "carillon-dev/testing";

const carillon = await testCarillon({ now: new Date() });
export const due: string | undefined = carillon.jobs()[0]?.dueAt;
// @ts-expect-error It takes a duration or an instant.
await carillon.advance(7);
`;

const jobs = z.object({ items: z.array(z.object({ kind: z.string(), state: z.string() })) });

// A start takes seconds, and many times as long on a busy machine.
describe("carillon-dev, as an app has it that installs the package", { timeout: 120_000 }, () => {
  let app: InstalledApp;
  let stack: DevProcess;

  beforeAll(async () => {
    app = await installedApp("docs/local.md");
    app.write("handlers.ts", handlers);
    app.write("schedules.ts", schedules);
    const program = app.at("node_modules", ".bin", "carillon-dev");
    stack = await startDev(app.at(), { args: ["--port=0"], program: [program] });
  }, 240_000);

  afterAll(async () => {
    await stack.end();
    app.remove();
  });

  test("the install line of docs/local.md brings the stack with its dependencies, and no TypeScript", () => {
    expect(readdirSync(app.at("node_modules"))).toEqual(expect.arrayContaining(["fauxqs", "postgres"]));
    const files = readdirSync(app.at("node_modules", "carillon-dev"), { recursive: true }).map(String);
    expect(files.filter((name) => name.endsWith(".ts") && !name.endsWith(".d.ts"))).toEqual([]);
    expect(files).toEqual(expect.arrayContaining(["LICENSE", "README.md", "THIRD-PARTY-LICENSES"]));
  });

  test("the installed stack runs a handler of the app, and checks its job again", async () => {
    const body = { when: "in 1s", target: { handler: "looks-twice" }, payload: { n: 7 } };
    expect((await stack.request("PUT", "/v1/schedules/look", body)).status).toBe(201);
    const both = await until("both jobs have succeeded", async () => {
      const { items } = jobs.parse(await (await stack.request("GET", "/v1/schedules/look/jobs")).json());
      const ended = items.filter(({ state }) => state === "succeeded");
      return ended.length === 2 ? ended : undefined;
    });
    expect(both.map(({ kind }) => kind).sort()).toEqual(["again", "cadence"]);
    await stack.line(/log .*looked .*\{"n":7\}/);
    await stack.line(/ succeeded {2}look .*handler looks-twice/);
  });

  test("the installed stack finds handlers and schedules of the app, and loads them again when they change", async () => {
    expect(stack.printed()).toContain("handlers   looks-twice, from handlers.ts");
    expect(stack.printed()).toContain("schedules  1 schedule: +later, from schedules.ts");
    app.write("schedules.ts", schedules.replace("every 1h", "every 2h"));
    await stack.line(/schedules +1 schedule: ~later$/);
    app.write("handlers.ts", handlers.replace("looks-twice", "looks-again"));
    await stack.line(/handlers +loaded again: looks-again$/);
  });

  test("the installed stack checks the app for carillon doctor", () => {
    const checks = () => checksIn(app.run(app.at("node_modules", ".bin", "carillon-dev"), "checks"));
    const states = () => checks().map(({ name, state }) => [name, state]);
    // The schedule still names the handler that has another name now.
    expect(checks().filter(({ state }) => state === "wrong")).toEqual([
      expect.objectContaining({
        name: "schedules",
        text: expect.stringContaining("(later): target.handler"),
      }),
    ]);
    app.write("handlers.ts", handlers);
    expect(states()).toEqual([
      ["postgres", "good"],
      ["data", "good"],
      ["ports", "none"],
      ["handlers", "good"],
      ["schedules", "good"],
    ]);
  });

  test("the installed test kit has types", () => {
    app.write("types.ts", kitTypes);
    const ofNode = path.join(import.meta.dirname, "..", "..", "node_modules", "@types");
    const language = [
      "--module",
      "nodenext",
      "--target",
      "es2022",
      "--lib",
      "es2022,dom,dom.iterable,esnext.disposable",
    ];
    const flags = [...language, "--typeRoots", ofNode, "--types", "node"];
    expect(app.checkTypes(flags, "types.ts")).toBe("");
  });

  test("the installed stack serves the page", async () => {
    const page = await fetch(stack.api);
    expect(page.status).toBe(200);
    expect(await page.text()).toContain('src="./assets/');
  });
});
