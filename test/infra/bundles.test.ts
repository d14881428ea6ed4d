import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { handlers } from "../../functions/handlers.ts";
import { assemble as assemblePage } from "../../functions/page.ts";
import { httpEvent, invocation } from "../api/http-event.ts";
import { runNode } from "../support/run-node.ts";
import { bundleBudgets } from "./bundle-budgets.ts";
import { type Bundles, bundled } from "./bundled.ts";
import { handlers as handlersOfApp } from "./own-handlers.ts";

const sourceMap = z.object({ sources: z.array(z.string()) });

let outdir: string;
let plain: Bundles;
let own: Bundles;
beforeAll(() => {
  outdir = mkdtempSync(path.join(tmpdir(), "carillon synth "));
  const handlersEntry = path.join(import.meta.dirname, "own-handlers.ts");
  // Both stacks are in one app, where the code of one could be mistaken for the other's.
  const all = { archiveBucket: "ledger", stackSchedules: true };
  ({ Plain: plain, Own: own } = bundled(outdir, { Plain: all, Own: { ...all, handlersEntry } }));
  // Beside other tests, esbuild and the page's build take several times as long as alone.
}, 300_000);
afterAll(() => rmSync(outdir, { recursive: true, force: true }));

test("every function is bundled into one file, which loads by itself, without this repository", async () => {
  expect(Object.keys(plain).sort()).toEqual(Object.keys(bundleBudgets));
  expect(plain["FastWorker"]).toBe(plain["SlowWorker"]);
  const folders = new Set([...Object.values(plain), ...Object.values(own)]);
  // Functions without handlers have the same bundle in both stacks.
  expect(folders.size).toBe(9 + 4);
  for (const folder of folders) {
    const module = `
      process.chdir(${JSON.stringify(folder)});
      const { handler } = await import(${JSON.stringify(path.join(folder, "index.mjs"))});
      console.log(typeof handler);`;
    expect(await runNode(module, {})).toBe("function");
  }
}, 60_000);

test.each(Object.entries(bundleBudgets))(
  "the bundle of %s stays within its budget, so that cold starts stay short",
  (construct, budget) => {
    expect(statSync(path.join(plain[construct] ?? "", "index.mjs")).size).toBeLessThan(budget);
  },
);

test.each(Object.keys(bundleBudgets))(
  "the bundle of %s contains no code that is never used in Lambda",
  (construct) => {
    const map = readFileSync(path.join(plain[construct] ?? "", "index.mjs.map"), "utf8");
    const { sources } = sourceMap.parse(JSON.parse(map));
    // Code that is never used: other languages than English, ways to credentials besides the
    // environment, and their clients.
    const idle = [
      /\/zod\/.*\/locales\/(?!en|index)/,
      /\/credential-provider-/,
      /\/nested-clients\//,
      /\/token-providers\//,
    ];
    expect(sources.length).toBeGreaterThan(construct === "Page" ? 5 : 20);
    expect(sources.filter((file) => idle.some((name) => name.test(file)))).toEqual([]);
  },
);

test("the migration's bundle contains every migration", () => {
  const here = readdirSync(new URL("../../migrations", import.meta.url));
  for (const [construct, folder] of Object.entries(plain)) {
    const migrations = construct === "Migration" ? here : undefined;
    expect(readdirSync(folder).includes("migrations"), construct).toBe(migrations !== undefined);
    if (migrations) expect(readdirSync(path.join(folder, "migrations"))).toEqual(migrations);
  }
});

test("the page's bundle contains the built page, each asset also compressed", async () => {
  const built = path.join(plain["Page"] ?? "", "page");
  expect(readdirSync(built).toSorted()).toEqual(["assets", "index.html"]);
  const names = readdirSync(path.join(built, "assets"));
  const assets = names.filter((name) => !/\.(br|gz)$/.test(name));
  expect(names.toSorted()).toEqual(assets.flatMap((name) => [name, `${name}.br`, `${name}.gz`]).toSorted());
  // Tests run with another NODE_ENV, which must not bring React's code for developers into the page.
  const scripts = assets.filter((name) => name.endsWith(".js"));
  const code = scripts.map((name) => readFileSync(path.join(built, "assets", name), "utf8")).join("");
  expect(code).toContain("react.dev/errors/");
  expect(code).not.toContain("Check the render method");
  const { handler } = assemblePage({ PAGE_DIRECTORY: built });
  const loaded = readFileSync(path.join(built, "index.html"), "utf8").matchAll(/(?:src|href)="\.(\/[^"]+)"/g);
  const answers = [...loaded].map(([, file = ""]) => handler(httpEvent("GET", file), invocation));
  expect(answers.length).toBeGreaterThan(2);
  for (const answer of await Promise.all(answers)) expect(answer.statusCode).toBe(200);
});

describe("handlers", () => {
  const ours = handlers.map(({ name }) => name);
  const theirs = handlersOfApp.map(({ name }) => name);
  const namedIn = (folder = "") => {
    const code = readFileSync(path.join(folder, "index.mjs"), "utf8");
    return [...ours, ...theirs].filter((name) => code.includes(`name:"${name}"`));
  };

  test.each(["Api", "Ingest", "Tick", "FastWorker", "SlowWorker"])(
    "the bundle of %s has the handlers of its own app only",
    (construct) => {
      expect(namedIn(plain[construct])).toEqual(ours);
      expect(namedIn(own[construct])).toEqual(theirs);
    },
  );

  test.each(["Archive", "Migration", "Page", "StackSchedules", "WebhookSender"])(
    "the bundle of %s has no handlers",
    (construct) => {
      expect(namedIn(plain[construct])).toEqual([]);
      expect(namedIn(own[construct])).toEqual([]);
    },
  );
});
