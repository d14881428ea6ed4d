import { execFile } from "node:child_process";
import { readdirSync, readFileSync, symlinkSync, unlinkSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ownCli } from "../cli/own-cli.ts";
import { type InstalledApp, installedApp } from "../support/installed-app.ts";

const root = path.join(import.meta.dirname, "..", "..");

const program = `
import { Carillon, isConflict, type ScheduleBody } from "carillon";
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

/** A job without a schema, in an app without zod and postgres. */
const job = `
import { again, defineJob, type JobHandler } from "carillon/job";
export const handlers: readonly JobHandler[] = [
  defineJob({
    name: "of-a-package",
    run: async (job, { sql, schedule }) => {
      const [row] = await sql<{ n: number }[]>\`select \${1}::int as n, \${sql("name")}\`;
      schedule.put("later", { when: "in 1h", target: { queue: "q" }, startsAt: new Date() });
      // @ts-expect-error There is no such column.
      row?.m;
      // @ts-expect-error A payload without a schema is unknown.
      job.payload.n;
      // @ts-expect-error It reaches beyond the transaction.
      await sql.notify("channel", "text");
      return row?.n === 1 ? again("2h") : undefined;
    },
  }),
];
`;

/** The same with postgres, whose own types a function of the app takes. */
const withPostgres = `
import { defineJob } from "carillon/job";
import type postgres from "postgres";
const count = async (sql: postgres.ISql): Promise<number> => (await sql\`select 1\`).count;
export const counts = defineJob({ name: "counts", run: async (_job, { sql }) => void (await count(sql)) });
`;

// Each test starts npm or tsc, which take seconds, and much longer on a busy machine.
describe("the installed package carillon", { timeout: 120_000 }, () => {
  let app: InstalledApp;

  beforeAll(async () => {
    app = await installedApp("docs/client.md");
  }, 240_000);

  afterAll(() => app.remove());

  test("The install line of docs/client.md installs one package, without dependencies and without sources", () => {
    const installed = readdirSync(app.at("node_modules")).filter((name) => !name.startsWith("."));
    expect(installed).toEqual(["carillon"]);
    const files = readdirSync(app.at("node_modules", "carillon"), { recursive: true }).map(String);
    expect(files.filter((name) => /(?<!\.d)\.ts$/.test(name))).toEqual([]);
    expect(files).toEqual(expect.arrayContaining(["LICENSE", "README.md", "THIRD-PARTY-LICENSES"]));
  });

  test("The client is imported as carillon and as carillon/client, and is one module", () => {
    const names = (name: string) =>
      app.run("node", "--eval", `import("${name}").then((m) => console.log(Object.keys(m).join(" ")))`);
    expect(names("carillon")).toMatch(/\bCarillon\b.*\bisConflict\b/);
    const same = `const [a, b] = await Promise.all([import("carillon"), import("carillon/client")]);
      console.log(a.Carillon === b.Carillon);`;
    expect(app.run("node", "--input-type=module", "--eval", same)).toBe("true\n");
  });

  test("Jobs are defined without zod and postgres, and their types are checked with every declaration", () => {
    app.write("job.ts", job);
    const flags = ["--skipLibCheck", "false", "--target", "es2022", "--module", "nodenext"];
    expect(app.checkTypes([...flags, "--lib", "es2022,dom", "--types", ""], "job.ts")).toBe("");
    const names = "const { handlers } = await import('./job.ts'); console.log(handlers[0].name)";
    expect(app.run("node", "--input-type=module", "--eval", names)).toBe("of-a-package\n");
  });

  test("The package has the CLI", () => {
    expect(app.run("npx", "--no-install", "carillon", "--help")).toContain("carillon <command>");
    expect(app.run("npx", "--no-install", "carillon", "help", "put")).toContain("carillon put order:1");
  });

  test("The `sql` of a handler has the types of postgres in an app that has it", () => {
    symlinkSync(path.join(root, "node_modules", "postgres"), app.at("node_modules", "postgres"));
    app.write("counts.ts", withPostgres);
    const types = ["--types", "node", "--typeRoots", path.join(root, "node_modules", "@types")];
    const flags = ["--skipLibCheck", "--target", "es2022", "--module", "nodenext"];
    expect(app.checkTypes([...flags, ...types], "counts.ts")).toBe("");
    unlinkSync(app.at("node_modules", "postgres"));
  });

  test.each([
    ["nodenext", "nodenext"],
    ["esnext", "bundler"],
  ])("The client's types work without the types of Node (module %s, resolution %s)", (module, resolution) => {
    app.write("app.ts", program);
    const flags = ["--exactOptionalPropertyTypes", "--target", "es2022", "--types", ""];
    const libraries = ["--lib", "es2022,dom", "--module", module, "--moduleResolution", resolution];
    expect(app.checkTypes([...flags, ...libraries], "app.ts")).toBe("");
  });

  test("The examples of docs/client.md run against the real API", async () => {
    const page = readFileSync(path.join(root, "docs", "client.md"), "utf8");
    const blocks = [...page.matchAll(/^```ts\n(.*?)^```/gms)].map(([, block = ""]) => block);
    expect(blocks.length).toBeGreaterThan(3);
    app.write("page.ts", blocks.join("\n"));
    const types = ["--types", "node", "--typeRoots", path.join(root, "node_modules", "@types")];
    const flags = ["--target", "es2022", "--module", "nodenext", "--skipLibCheck"];
    expect(app.checkTypes([...flags, ...types], "page.ts")).toBe("");
    const own = await ownCli();
    try {
      const env = { PATH: process.env["PATH"], CARILLON_URL: own.url, CARILLON_TOKEN: "admin-token" };
      const run = promisify(execFile)(process.execPath, ["page.ts"], { cwd: app.at(), env });
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
