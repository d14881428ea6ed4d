import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const root = path.join(import.meta.dirname, "..", "..");

const program = `
import { Carillon, isConflict, type ScheduleBody } from "carillon/client";
const body: ScheduleBody = { when: "in 3h", target: { queue: "q" }, startsAt: new Date(), payload: { a: [1] } };
const carillon = new Carillon({ url: "https://api.example.com", token: async () => "t" });
export async function keys(): Promise<string[]> {
  const found: string[] = [];
  for await (const { key, target } of carillon.schedules.list({ prefix: "a" })) found.push(key, target.webhook?.url ?? "");
  const { version } = await carillon.schedules.put("a", body, { ifMatch: 1 });
  return [...found, String(version satisfies number), String(isConflict(null))];
}
// @ts-expect-error There is one target.
const two: ScheduleBody = { when: "in 3h", target: { queue: "q", handler: "h" } };
// @ts-expect-error A field of no schedule.
const odd: ScheduleBody = { when: "in 3h", target: { queue: "q" }, wen: "in 3h" };
export { odd, two };
`;

describe("the package as others install it", () => {
  let folder: string;
  const inApp = (command: string, ...args: string[]) =>
    execFileSync(command, args, { cwd: path.join(folder, "app"), encoding: "utf8", stdio: "pipe" });

  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), "carillon-package-"));
    execFileSync("npm", ["run", "build", "--silent"], { cwd: root, stdio: "pipe" });
    const pack = ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder];
    execFileSync("npm", pack, { cwd: root, stdio: "pipe" });
    const [file = ""] = readdirSync(folder);
    mkdirSync(path.join(folder, "app"));
    writeFileSync(
      path.join(folder, "app", "package.json"),
      '{ "name": "app", "private": true, "type": "module" }',
    );
    inApp("npm", "install", "--offline", "--omit=optional", "--no-audit", "--no-fund", path.join("..", file));
  });

  afterAll(() => rmSync(folder, { recursive: true }));

  test("brings nothing else along", () => {
    const installed = readdirSync(path.join(folder, "app", "node_modules")).filter(
      (name) => !name.startsWith("."),
    );
    expect(installed).toEqual(["carillon"]);
    const files = readdirSync(path.join(folder, "app", "node_modules", "carillon")).sort();
    expect(files).toEqual(["LICENSE", "README.md", "dist", "package.json"]);
  });

  test("is imported as carillon/client, and as nothing else", () => {
    const names = "import('carillon/client').then((m) => console.log(Object.keys(m).join(' ')))";
    expect(inApp("node", "--eval", names)).toMatch(/\bCarillon\b.*\bisConflict\b/);
    expect(() => inApp("node", "--eval", "import('carillon')")).toThrow(/ERR_PACKAGE_PATH_NOT_EXPORTED/);
  });

  test("runs its CLI", () => {
    expect(inApp("npx", "--no-install", "carillon", "--help")).toContain("carillon <command>");
    expect(inApp("npx", "--no-install", "carillon", "help", "put")).toContain("carillon put order:1");
  });

  test.each([
    ["nodenext", "nodenext"],
    ["esnext", "bundler"],
  ])("types programs, without Node's types (module %s, resolution %s)", (module, resolution) => {
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
});
