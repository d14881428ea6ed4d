import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { expect, test } from "vitest";
import cdkJson from "../../cdk.json" with { type: "json" };
import packageJson from "../../package.json" with { type: "json" };

const root = path.join(import.meta.dirname, "..", "..");
const needed = packageJson.engines.node.replace(">=", "");

/** Runs a program under a Node that calls itself another version. */
async function run(version: string, ...args: string[]) {
  const pretend = `Object.defineProperty(process.versions, "node", { value: ${JSON.stringify(version)} })`;
  const node = ["--import", `data:text/javascript,${encodeURIComponent(pretend)}`];
  const ended = promisify(execFile)(process.execPath, [...node, ...args], { cwd: root });
  return ended.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
      code,
      stdout,
      stderr,
    }),
  );
}

test.each([
  ["The CLI", ["lib/cli/main.ts", "help"]],
  ["The check before `npm start`", ["lib/tools/node-version.js"]],
  ["The construct", ["infra/cdk.ts"]],
])("%s says in one sentence that Node is too old, and accepts the oldest that is enough", async (_, args) => {
  for (const old of ["18.20.8", "22.17.1"]) {
    const { code, stdout, stderr } = await run(old, ...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(
      new RegExp(`^carillon needs Node ${needed} or newer; this is Node ${old}.\n$`, "i"),
    );
  }
  for (const enough of [`${needed}.0`, "24.0.0"]) expect((await run(enough, ...args)).code).toBe(0);
});

test("an older Node links the construct: it imports nothing by name that only newer ones have", async () => {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ["infra/cdk.ts"],
    bundle: true,
    packages: "external",
    format: "esm",
    platform: "node",
    write: false,
  });
  const imports = outputFiles.flatMap(({ text }) => text.match(/^import .*"node:.*$/gm) ?? []);
  expect(imports.length).toBeGreaterThan(3);
  // Static imports are linked before the check of the version runs.
  expect(imports.filter((line) => line.includes("findPackageJSON"))).toEqual([]);
});

test("`npm start` and `cdk` check the version of Node first", () => {
  for (const first of [packageJson.scripts.start, cdkJson.app])
    expect(first).toMatch(/^node lib\/tools\/node-version\.js && /);
});

test.each(["README.md", "docs/develop.md", "docs/local.md", "docs/deploy.md", "docs/client.md"])(
  "%s names the oldest Node of package.json",
  (page) => {
    const named = readFileSync(path.join(root, page), "utf8").matchAll(
      /Node(?:\.js)? (\d+(?:\.\d+)?) (?:or|and) newer/g,
    );
    expect([...new Set([...named].map(([, version]) => version))]).toEqual([needed]);
  },
);
