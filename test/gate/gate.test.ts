import { spawn } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

const repository = path.resolve(import.meta.dirname, "..", "..");

let project: string;
beforeAll(async () => {
  project = await mkdtemp(path.join(tmpdir(), "carillon-gated-"));
  await symlink(path.join(repository, "node_modules"), path.join(project, "node_modules"));
});
afterAll(() => rm(project, { recursive: true, force: true }));

/**
 * Runs the gate on the given test files, without lint, types and synth; returns its exit code and
 * its last lines.
 */
async function gate(files: Record<string, string>): Promise<{ code: number | null; lines: string[] }> {
  for (const [name, text] of Object.entries(files))
    await writeFile(
      path.join(project, `${name}.test.ts`),
      `import { expect, test, vi } from "vitest";\n${text}`,
    );
  const child = spawn(
    process.execPath,
    [
      path.join(repository, "test/gate/run.ts"),
      ...Object.keys(files).map((name) => path.join(project, name)),
      `--root=${project}`,
    ],
    { cwd: repository, stdio: ["ignore", "pipe", "pipe"] },
  );
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  const lines = output.trim().split("\n");
  return { code, lines: lines.filter((line) => /^(FLAKY|FAILED) |^\d+ passed, \d+ failed$/.test(line)) };
}

const inProject = (name: string) => path.relative(repository, path.join(project, `${name}.test.ts`));

/** Fails the first time it runs. */
const failsOnce = (name: string, fail: string) =>
  `const { existsSync, writeFileSync } = await import("node:fs");
  const isFirst = !existsSync(${JSON.stringify(path.join(project, `${name}-ran`))});
  writeFileSync(${JSON.stringify(path.join(project, `${name}-ran`))}, "");
  if (isFirst) { ${fail} }`;

test("the gate is green with a FLAKY line for a test that fails and then passes alone", async () => {
  const { code, lines } = await gate({
    flaky: `test("good", () => {});
      test("wavers", async () => { ${failsOnce("wavers", "expect(1).toBe(2);")} });`,
  });
  expect(lines).toEqual([`FLAKY ${inProject("flaky")} > wavers`, "2 passed, 0 failed"]);
  expect(code).toBe(0);
});

test("the gate is red for a test that fails twice, even when others are only flaky", async () => {
  const { code, lines } = await gate({
    mixed: `test("wrong", () => expect(1).toBe(2));
      test("wavers", async () => { ${failsOnce("mixed", "expect(1).toBe(2);")} });`,
  });
  expect(lines).toEqual([
    `FAILED ${inProject("mixed")} > wrong`,
    `FLAKY ${inProject("mixed")} > wavers`,
    "1 passed, 1 failed",
  ]);
  expect(code).toBe(1);
});

test("the gate is red for a file that fails outside of its tests and for an error that no test awaited", async () => {
  const { code, lines } = await gate({
    broken: `test("good", () => {}); throw new Error("at import");`,
    late: `test("leaves an error behind", () => { setTimeout(() => { throw new Error("late"); }, 1); });
      test("waits", () => new Promise((resolve) => setTimeout(resolve, 100)));`,
  });
  expect(lines).toEqual([
    `FAILED ${inProject("broken")} (outside of its tests)`,
    `FAILED ${inProject("late")} (an error that no test awaited)`,
    "2 passed, 2 failed",
  ]);
  expect(code).toBe(1);
});

test("the gate is red when no test has run", async () => {
  const { code, lines } = await gate({ empty: `void [expect, test, vi];` });
  expect(lines.at(-1)).toMatch(/^0 passed, [12] failed$/);
  expect(code).toBe(1);
});

test("the gate runs no more than ten files a second time", async () => {
  const names = Array.from({ length: 11 }, (_, index) => `many-${index}`);
  const files = names.map((name) => [
    name,
    `test("wavers", async () => { ${failsOnce(name, "expect(1).toBe(2);")} });`,
  ]);
  const { code, lines } = await gate({ good: `test("good", () => {});`, ...Object.fromEntries(files) });
  expect(lines).toHaveLength(12);
  expect(lines.at(-1)).toBe("1 passed, 11 failed");
  expect(code).toBe(1);
});
