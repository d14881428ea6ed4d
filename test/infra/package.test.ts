import { readdirSync, readFileSync, renameSync, statSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { type InstalledApp, installedApp } from "../support/installed-app.ts";
import { runNode } from "../support/run-node.ts";
import { type Bundles, bundlesOf } from "./bundled.ts";

const root = path.join(import.meta.dirname, "..", "..");

const sbom = z.object({
  components: z.array(
    z.object({
      name: z.string(),
      version: z.string(),
      licenses: z.tuple([z.object({ expression: z.string().min(1) })]),
    }),
  ),
});
const locked = z.object({
  packages: z.record(z.string(), z.object({ version: z.string(), license: z.string() }).partial()),
});

const stacks = `
import { App, Stack } from "aws-cdk-lib";
import { Carillon, type CarillonProps, Schedule, type ScheduleProps, Watch } from "carillon-cdk";

const app = new App({
  outdir: "cdk.out",
  context: { "aws:cdk:enable-path-metadata": true, "aws:cdk:enable-asset-metadata": true },
});
const plain: Carillon = new Carillon(new Stack(app, "Plain"), "Carillon");
export const arn: string = plain.ingestQueue.queueArn;
export const watch = Watch;
const own: CarillonProps = { handlersEntry: "handlers.ts", apiRequestBurst: 20, stackSchedules: true };
new Carillon(new Stack(app, "Own"), "Carillon", own);
// @ts-expect-error There is no such setting.
export const odd: CarillonProps = { apiRequestBrust: 20 };
// @ts-expect-error It takes a number.
export const wrong: CarillonProps = { apiRequestBurst: ["20"] };
const shop = new Stack(app, "Shop");
const weekly: ScheduleProps = {
  carillon: plain,
  key: "report:weekly",
  when: "0 9 * * MON",
  target: { queue: "carillon-target-reports" },
  payload: { orderId: 1234 },
};
export const key: string = new Schedule(shop, "Weekly", weekly).key;
// @ts-expect-error A target is of one kind.
export const both: ScheduleProps = { ...weekly, target: { queue: "a", handler: "b" } };
for (const fault of [() => plain.handlers, () => new Schedule(shop, "Wrong", { ...weekly, key: "b", when: "0 9 * * MOX" })])
  try {
    fault();
  } catch (error) {
    console.log(String(error));
  }
shop.node.tryRemoveChild("Wrong");
app.synth();
`;

/** Another app, which uses what the construct has for code of an app. */
const typed = `
import { App, Stack } from "aws-cdk-lib";
import { EventBus } from "aws-cdk-lib/aws-events";
import { Table, AttributeType } from "aws-cdk-lib/aws-dynamodb";
import { Role, AccountRootPrincipal } from "aws-cdk-lib/aws-iam";
import { Topic } from "aws-cdk-lib/aws-sns";
import { Carillon, type CarillonProps, type Handlers } from "carillon-cdk";

const stack = new Stack(new App(), "Typed");
const topic = new Topic(stack, "Topic");
const props: CarillonProps = { alarmTopic: topic, targetBuses: [new EventBus(stack, "Bus")] };
const carillon = new Carillon(stack, "Carillon", { ...props, handlersEntry: "handlers.ts" });
const table = new Table(stack, "Table", { partitionKey: { name: "id", type: AttributeType.STRING } });
const handlers: Handlers = carillon.handlers.addEnvironment("TABLE", table.tableName);
table.grantReadWriteData(handlers);
const caller = new Role(stack, "Caller", { assumedBy: new AccountRootPrincipal() });
carillon.grantSendCommands(caller).assertSuccess();
carillon.metricLateness("fast").createAlarm(stack, "Late", { threshold: 1, evaluationPeriods: 1 });
// @ts-expect-error There is no such queue.
carillon.metricLateness("middle");
// @ts-expect-error It takes topics, and no ARNs of them.
export const wrong: CarillonProps = { alarmTopic: topic.topicArn };
`;

const handlers = `
import { again, defineJob, type JobHandler } from "carillon/job";
import * as z from "zod";

export const handlers: readonly JobHandler[] = [
  defineJob({
    name: "of-a-package",
    payload: z.strictObject({ n: z.int() }),
    run: async (job, { sql }) => {
      const n: number = job.payload.n;
      await sql\`select \${n}::int\`;
      // @ts-expect-error The payload has no such field.
      await sql\`select \${job.payload.m}::int\`;
      return again("2h");
    },
  }),
];
`;

// Each test starts programs, which are many times slower on a busy machine.
describe("carillon-cdk, as an app has it that installs the package", { timeout: 120_000 }, () => {
  let app: InstalledApp;
  let plain: Bundles;
  let own: Bundles;
  let printed: string;
  const synthesisedAs = (stack: string) => {
    const outdir = app.at("cdk.out");
    const template = readFileSync(path.join(outdir, `${stack}.template.json`), "utf8");
    return bundlesOf(JSON.parse(template), outdir);
  };

  beforeAll(async () => {
    app = await installedApp("docs/deploy.md", ["@types/node", "esbuild"]);
    app.write("stacks.ts", stacks);
    app.write("handlers.ts", handlers);
    app.write("typed.ts", typed);
    printed = app.run(process.execPath, "stacks.ts");
    plain = synthesisedAs("Plain");
    own = synthesisedAs("Own");
  }, 240_000);

  afterAll(() => app.remove());

  test("the installed construct deploys every function, below 1.5 MB, and each loads by itself", async () => {
    expect(Object.keys(plain)).toHaveLength(9);
    expect(Object.keys(own).sort()).toEqual(Object.keys(plain).sort());
    for (const bundle of new Set([...Object.values(plain), ...Object.values(own)])) {
      const file = path.join(bundle, "index.mjs");
      expect(statSync(file).size).toBeLessThan(1_500_000);
      const module = `const { handler } = await import(${JSON.stringify(file)}); console.log(typeof handler);`;
      expect(await runNode(module, {})).toBe("function");
    }
  });

  test("the installed package's migration function contains all migrations", () => {
    for (const { Migration = "" } of [plain, own])
      expect(readdirSync(path.join(Migration, "migrations"))).toEqual(
        readdirSync(path.join(root, "migrations")),
      );
  });

  test("the installed package's page function contains the built page, so that an app needs no vite", () => {
    for (const { Page = "" } of [plain, own]) {
      expect(readdirSync(path.join(Page, "page", "assets")).length).toBeGreaterThan(5);
      expect(readFileSync(path.join(Page, "page", "index.html"), "utf8")).toContain('src="./assets/');
    }
  });

  test.each(["Api", "Ingest", "Tick", "FastWorker", "SlowWorker"])(
    "the bundle of %s has the app's handlers",
    (construct) => {
      expect(codeOf(own[construct])).toContain('name:"of-a-package"');
      expect(codeOf(plain[construct])).not.toMatch(/name:"(of-a-package|order-unshipped|digest)"/);
    },
  );

  test("the handlers of an app that passes none are refused with the property that takes them", () => {
    expect(printed).toContain("Error: handlers: there are none; give the path of the module");
  });

  test("the installed construct reads schedules by the API's parser, at synth", () => {
    expect(printed).toContain("Error: Shop/Wrong: this schedule cannot be used:\n  when: ");
    expect(printed).toContain("(at position 8)");
  });

  test("the worker and carillon/job have a class each for the results of `again`, and know them by one symbol", () => {
    expect(codeOf(own["SlowWorker"]).match(/kind="again"/g)).toHaveLength(2);
    expect(codeOf(own["SlowWorker"]).match(/Symbol\.for\("carillon\.result"\)/g)).toHaveLength(2);
  });

  test("the construct refuses handlers in an app without esbuild, and says how to install it", () => {
    renameSync(app.at("node_modules", "esbuild"), app.at("esbuild"));
    try {
      expect(() => app.run(process.execPath, "stacks.ts")).toThrow(
        "Error: handlersEntry: your handlers are bundled with esbuild, which is not installed; run `npm install --save-dev esbuild`.",
      );
    } finally {
      renameSync(app.at("esbuild"), app.at("node_modules", "esbuild"));
    }
  });

  test("the package lists each package in its bundles with version and licence, and contains each licence's text", () => {
    const installed = app.at("node_modules", "carillon-cdk");
    const functions = path.join(installed, "functions");
    const { components } = sbom.parse(
      JSON.parse(readFileSync(path.join(installed, "sbom.cdx.json"), "utf8")),
    );
    const licences = readFileSync(path.join(installed, "THIRD-PARTY-LICENSES"), "utf8");
    const lock = locked.parse(
      JSON.parse(readFileSync(path.join(root, "package-lock.json"), "utf8")),
    ).packages;
    const inMaps = ["api", "tick", "worker", "ingest", "migrate", "webhook"].flatMap((entry) => {
      const map = readFileSync(path.join(functions, entry, "index.mjs.map"), "utf8");
      return [...map.matchAll(/"[^"]*?(node_modules\/[^"]*)"/g)].map(([, file = ""]) => file);
    });
    const folders = new Set(
      inMaps.map((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? ""),
    );
    expect(folders.size).toBeGreaterThan(5);
    // Only the page draws.
    expect(components.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["react", "@tanstack/react-query"]),
    );
    expect(licences).toContain("Copyright (c) 2025 Colin McDonnell");
    for (const folder of folders) {
      const name = folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length);
      const { version = "", license = "" } = lock[folder] ?? {};
      expect(components, folder).toContainEqual({ name, version, licenses: [{ expression: license }] });
      expect(licences).toContain(`\n${name} ${version} (${license})\n`);
    }
  });

  test("the declarations of carillon-cdk name no package but the CDK, and are checked with an app's own", () => {
    const types = app.at("node_modules", "carillon-cdk", "types");
    expect(packagesOf(path.join(types, "infra", "cdk.d.ts"))).toEqual(new Set(["aws-cdk-lib", "constructs"]));
    const language = ["--target", "es2022", "--module", "nodenext", "--types", "node"];
    expect(app.checkTypes(["--skipLibCheck", "false", ...language], "typed.ts")).toBe("");
  });

  test("the constructs and the handlers of an app are type-checked against the package's types", () => {
    const flags = ["--exactOptionalPropertyTypes", "--skipLibCheck", "--types", "node"];
    const language = ["--target", "es2024", "--lib", "es2024,esnext.disposable", "--module", "nodenext"];
    expect(app.checkTypes([...flags, ...language], "stacks.ts", "handlers.ts")).toBe("");
  });
});

/** The packages that a declaration imports, also through other files. */
function packagesOf(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return new Set();
  seen.add(file);
  const imports = [...readFileSync(file, "utf8").matchAll(/(?:from|import\()\s*"([^"]+)"/g)];
  return new Set(
    imports.flatMap(([, name = ""]) => {
      if (!name.startsWith(".")) return [name.split("/")[0] ?? ""];
      return [...packagesOf(path.join(path.dirname(file), name.replace(/\.[jt]s$/, ".d.ts")), seen)];
    }),
  );
}

const codeOf = (bundle = "") => readFileSync(path.join(bundle, "index.mjs"), "utf8");
