import { execFileSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { runNode } from "../support/run-node.ts";
import { type Bundles, bundlesOf } from "./bundled.ts";

const root = path.join(import.meta.dirname, "..", "..");
const modules = path.join(root, "node_modules");

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
import { Carillon, type CarillonProps, Watch } from "carillon/cdk";

const app = new App({
  outdir: "cdk.out",
  context: { "aws:cdk:enable-path-metadata": true, "aws:cdk:enable-asset-metadata": true },
});
const plain: Carillon = new Carillon(new Stack(app, "Plain"), "Carillon");
export const arn: string = plain.ingestQueue.queueArn;
export const watch = Watch;
const own: CarillonProps = { handlersEntry: "handlers.ts", apiRequestBurst: 20 };
new Carillon(new Stack(app, "Own"), "Carillon", own);
// @ts-expect-error There is no such setting.
export const odd: CarillonProps = { apiRequestBrust: 20 };
// @ts-expect-error It takes a number.
export const wrong: CarillonProps = { apiRequestBurst: ["20"] };
app.synth();
`;

const handlers = `
import { again, defineJob, type JobHandler } from "carillon/job";
import { z } from "zod";

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

describe("carillon/cdk, as an app has it that installs the package", () => {
  let folder: string;
  let app: string;
  let plain: Bundles;
  let own: Bundles;
  const inApp = (command: string, ...args: string[]) =>
    execFileSync(command, args, {
      cwd: app,
      encoding: "utf8",
      stdio: "pipe",
      // Whoever asks the network gets no answer.
      env: { PATH: process.env["PATH"], HOME: folder, HTTPS_PROXY: "http://127.0.0.1:9" },
    });

  const synthesisedAs = (stack: string) => {
    const outdir = path.join(app, "cdk.out");
    const template = readFileSync(path.join(outdir, `${stack}.template.json`), "utf8");
    return bundlesOf(JSON.parse(template), outdir);
  };

  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), "carillon-cdk-"));
    app = appWithPackage(folder);
    writeFileSync(path.join(app, "stacks.ts"), stacks);
    writeFileSync(path.join(app, "handlers.ts"), handlers);
    inApp(process.execPath, "stacks.ts");
    plain = synthesisedAs("Plain");
    own = synthesisedAs("Own");
  }, 240_000);

  afterAll(() => rmSync(folder, { recursive: true }));

  test("deploys every function, small, and each loads by itself", async () => {
    expect(Object.keys(plain)).toHaveLength(7);
    expect(Object.keys(own).sort()).toEqual(Object.keys(plain).sort());
    for (const bundle of new Set([...Object.values(plain), ...Object.values(own)])) {
      const file = path.join(bundle, "index.mjs");
      expect(statSync(file).size).toBeLessThan(1_500_000);
      const module = `const { handler } = await import(${JSON.stringify(file)}); console.log(typeof handler);`;
      expect(await runNode(module, {})).toBe("function");
    }
  }, 60_000);

  test("brings the migrations along", () => {
    for (const { Migration = "" } of [plain, own])
      expect(readdirSync(path.join(Migration, "migrations"))).toEqual(
        readdirSync(path.join(root, "migrations")),
      );
  });

  test.each(["Api", "Ingest", "Tick", "FastWorker", "SlowWorker"])(
    "has the app's handlers in %s",
    (construct) => {
      expect(codeOf(own[construct])).toContain('name:"of-a-package"');
      expect(codeOf(plain[construct])).not.toMatch(/name:"(of-a-package|order-unshipped|digest)"/);
    },
  );

  test("knows what a handler returns: `again` is the worker's own", () => {
    expect(codeOf(own["SlowWorker"]).match(/kind="again"/g)).toHaveLength(1);
  });

  test("says which packages are in its bundles, each with version and licence, and passes their licences on", () => {
    const dist = path.join(app, "node_modules", "carillon", "dist");
    const functions = path.join(dist, "functions");
    const { components } = sbom.parse(JSON.parse(readFileSync(path.join(dist, "sbom.cdx.json"), "utf8")));
    const licences = readFileSync(path.join(dist, "THIRD-PARTY-LICENSES"), "utf8");
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
    // The CLI alone reads YAML.
    expect(components.map(({ name }) => name)).toContain("yaml");
    expect(licences).toContain("Copyright Eemeli Aro");
    for (const folder of folders) {
      const name = folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length);
      const { version = "", license = "" } = lock[folder] ?? {};
      expect(components, folder).toContainEqual({ name, version, licenses: [{ expression: license }] });
      expect(licences).toContain(`\n${name} ${version} (${license})\n`);
    }
  });

  test("has types that hold", () => {
    const flags = ["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--skipLibCheck"];
    const language = ["--target", "es2024", "--lib", "es2024,esnext.disposable", "--module", "nodenext"];
    const tsc = path.join(modules, ".bin", "tsc");
    expect(inApp(tsc, ...flags, ...language, "--types", "node", "stacks.ts", "handlers.ts")).toBe("");
  }, 60_000);
});

const codeOf = (bundle = "") => readFileSync(path.join(bundle, "index.mjs"), "utf8");

/** Built in a copy, since other tests build here, and installed with what the package leaves to the app. */
function appWithPackage(folder: string): string {
  const copy = path.join(folder, "copy");
  const parts = ["functions", "infra", "lib", "migrations", "package.json", "README.md", "LICENSE"];
  for (const part of [...parts, "tsconfig.json", "tsconfig.client.json", "tsconfig.cdk.json"])
    cpSync(path.join(root, part), path.join(copy, part), { recursive: true });
  symlinkSync(modules, path.join(copy, "node_modules"));
  execFileSync("npm", ["run", "build", "--silent"], { cwd: copy, stdio: "pipe" });
  execFileSync("npm", ["pack", "--ignore-scripts", "--silent"], { cwd: copy, stdio: "pipe" });
  const tarball = readdirSync(copy).find((file) => file.endsWith(".tgz")) ?? "";

  const app = path.join(folder, "app");
  mkdirSync(app);
  writeFileSync(path.join(app, "package.json"), '{ "name": "app", "private": true, "type": "module" }');
  const install = ["install", "--offline", "--omit=optional", "--no-audit", "--no-fund"];
  execFileSync("npm", [...install, path.join(copy, tarball)], { cwd: app, stdio: "pipe" });
  for (const peer of ["aws-cdk-lib", "constructs", "esbuild", "postgres", "zod", "@types"])
    symlinkSync(path.join(modules, peer), path.join(app, "node_modules", peer));
  mkdirSync(path.join(app, "node_modules", ".bin"), { recursive: true });
  symlinkSync(path.join(modules, ".bin", "esbuild"), path.join(app, "node_modules", ".bin", "esbuild"));
  return app;
}
