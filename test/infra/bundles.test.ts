import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { App } from "aws-cdk-lib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CarillonStack } from "../../infra/carillon-stack.ts";
import { defaultSettings } from "../../infra/settings.ts";
import { runNode } from "../support/run-node.ts";

const BUNDLE_MAX_BYTES = 1_500_000;

let outdir: string;
let bundles: string[];
beforeAll(() => {
  outdir = mkdtempSync(path.join(tmpdir(), "carillon synth "));
  const app = new App({ outdir });
  new CarillonStack(app, "Carillon", defaultSettings);
  app.synth();
  bundles = readdirSync(outdir)
    .map((name) => path.join(outdir, name))
    .filter((directory) => statSync(directory).isDirectory() && readdirSync(directory).includes("index.mjs"));
});
afterAll(() => rmSync(outdir, { recursive: true, force: true }));

test("every function becomes one bundle, and each loads by itself, without this repository", async () => {
  // The two workers are the same code.
  expect(bundles).toHaveLength(6);
  for (const bundle of bundles) {
    const module = `
      process.chdir(${JSON.stringify(bundle)});
      const { handler } = await import(${JSON.stringify(path.join(bundle, "index.mjs"))});
      console.log(typeof handler);`;
    expect(await runNode(module, {})).toBe("function");
  }
});

test("a bundle stays small, so that a cold start does", () => {
  for (const bundle of bundles) {
    expect(statSync(path.join(bundle, "index.mjs")).size).toBeLessThan(BUNDLE_MAX_BYTES);
  }
});

test("the migration's bundle brings every migration along", () => {
  const withMigrations = bundles.filter((bundle) => readdirSync(bundle).includes("migrations"));
  expect(withMigrations).toHaveLength(1);
  const here = readdirSync(new URL("../../migrations", import.meta.url));
  expect(readdirSync(path.join(withMigrations[0] ?? "", "migrations"))).toEqual(here);
});
