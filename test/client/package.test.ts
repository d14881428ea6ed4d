import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ownCli } from "../cli/own-cli.ts";
import { packedPackage } from "../support/packed-package.ts";

const root = path.join(import.meta.dirname, "..", "..");

const program = `
import { Carillon, isConflict, type ScheduleBody } from "carillon/client";
const body: ScheduleBody = { when: "in 3h", target: { queue: "q" }, startsAt: new Date(), payload: { a: [1] } };
const carillon = new Carillon({ url: "https://api.example.com", token: async () => "t" });
export async function keys(): Promise<string[]> {
  const found: string[] = [];
  for await (const { key, target } of carillon.schedules.list({ prefix: "a" })) found.push(key, target?.webhook?.url ?? "");
  const { version } = await carillon.schedules.put("a", body, { ifMatch: 1 });
  return [...found, String(version satisfies number), String(isConflict(null))];
}
// @ts-expect-error A target has one kind.
const two: ScheduleBody = { when: "in 3h", target: { queue: "q", handler: "h" } };
// @ts-expect-error A schedule has no such field.
const odd: ScheduleBody = { when: "in 3h", target: { queue: "q" }, wen: "in 3h" };
export { odd, two };
`;

// Each test starts npm or tsc, which take seconds, and much longer on a busy machine.
describe("the installed package", { timeout: 120_000 }, () => {
  let folder: string;
  const inApp = (command: string, ...args: string[]) =>
    execFileSync(command, args, { cwd: path.join(folder, "app"), encoding: "utf8", stdio: "pipe" });

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), "carillon-package-"));
    mkdirSync(path.join(folder, "app"));
    writeFileSync(
      path.join(folder, "app", "package.json"),
      '{ "name": "app", "private": true, "type": "module" }',
    );
    const install = ["install", "--offline", "--omit=optional", "--no-audit", "--no-fund"];
    inApp("npm", ...install, await packedPackage());
  }, 240_000);

  afterAll(() => rmSync(folder, { recursive: true }));

  test("The package has no dependencies and only its own four files", () => {
    const installed = readdirSync(path.join(folder, "app", "node_modules")).filter(
      (name) => !name.startsWith("."),
    );
    expect(installed).toEqual(["carillon"]);
    const files = readdirSync(path.join(folder, "app", "node_modules", "carillon")).sort();
    expect(files).toEqual(["LICENSE", "README.md", "dist", "package.json"]);
  });

  test("The package is imported as carillon/client, not as carillon", () => {
    const names = "import('carillon/client').then((m) => console.log(Object.keys(m).join(' ')))";
    expect(inApp("node", "--eval", names)).toMatch(/\bCarillon\b.*\bisConflict\b/);
    expect(() => inApp("node", "--eval", "import('carillon')")).toThrow(/ERR_PACKAGE_PATH_NOT_EXPORTED/);
  });

  test("The package has the CLI", () => {
    expect(inApp("npx", "--no-install", "carillon", "--help")).toContain("carillon <command>");
    expect(inApp("npx", "--no-install", "carillon", "help", "put")).toContain("carillon put order:1");
  });

  test.each([
    ["nodenext", "nodenext"],
    ["esnext", "bundler"],
  ])("The client's types work without the types of Node (module %s, resolution %s)", (module, resolution) => {
    writeFileSync(path.join(folder, "app", "app.ts"), program);
    const flags = [
      "--noEmit",
      "--strict",
      "--exactOptionalPropertyTypes",
      "--target",
      "es2022",
      "--types",
      "",
    ];
    const libraries = ["--lib", "es2022,dom", "--module", module, "--moduleResolution", resolution];
    const tsc = path.join(root, "node_modules", ".bin", "tsc");
    expect(inApp(tsc, ...flags, ...libraries, "app.ts")).toBe("");
  });

  test("The examples of docs/client.md run against the real API", async () => {
    const page = readFileSync(path.join(root, "docs", "client.md"), "utf8");
    const blocks = [...page.matchAll(/^```ts\n(.*?)^```/gms)].map(([, block = ""]) => block);
    expect(blocks.length).toBeGreaterThan(3);
    writeFileSync(path.join(folder, "app", "page.ts"), blocks.join("\n"));
    const types = ["--types", "node", "--typeRoots", path.join(root, "node_modules", "@types")];
    const flags = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--skipLibCheck"];
    expect(inApp(path.join(root, "node_modules", ".bin", "tsc"), ...flags, ...types, "page.ts")).toBe("");
    const own = await ownCli();
    try {
      const env = { PATH: process.env["PATH"], CARILLON_URL: own.url, CARILLON_TOKEN: "admin-token" };
      const run = promisify(execFile)(process.execPath, ["page.ts"], { cwd: path.join(folder, "app"), env });
      const { stdout } = await run;
      expect(stdout).toMatch(/^order:1234:unshipped 2\d{3}-/);
      expect(stdout).toMatch(
        /\n409 .*\norder:1:remind 201 undefined\norder:1234:unshipped 200 undefined\norder:999:unshipped 404 /,
      );
    } finally {
      await own.stop();
    }
  });
});
