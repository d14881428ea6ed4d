import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type DevProcess, devEnvironment, startDev } from "./dev-process.ts";
import { newProject, type Project } from "./project.ts";

const root = path.join(import.meta.dirname, "..", "..");
const page = readFileSync(path.join(root, "docs", "jobs.md"), "utf8");
const blocksIn = (form: RegExp) => [...page.matchAll(form)].map(([, block = ""]) => block);

const [surroundings = "", ...commands] = blocksIn(/^```sh\n(.*?)^```/gms);
/** Whole modules of handlers: they import what they use. */
const modules = blocksIn(/^```ts[^\n]*\n(.*?)^```/gms).filter((block) => block.includes("carillon/job"));

const handlers = `
import { handlers as made } from "./module-0.ts";
import { orderUnshipped } from "./module-1.ts";
import { digest } from "./module-2.ts";
export const handlers = [...made, orderUnshipped, digest];
`;

// A start takes seconds, and many times as long on a busy machine.
describe("docs/jobs.md, in a project with the handlers of the page", { timeout: 120_000 }, () => {
  let project: Project;
  let dev: DevProcess;

  beforeAll(async () => {
    project = newProject({
      "carillon/handlers.ts": handlers,
      ...Object.fromEntries(modules.map((text, index) => [`carillon/module-${index}.ts`, text])),
    });
    dev = await startDev(project.folder, { args: ["--port=0"], env: { CARILLON_TOKEN: "" } });
  }, 120_000);

  afterAll(async () => {
    await dev.end();
    project.remove();
  });

  test("the handlers of the page are loaded", () => {
    expect(dev.printed()).toContain("handlers   report, order-unshipped, digest, from carillon/handlers.ts");
  });

  test.each(commands)("the commands of block %# of the page are carried out", async (block) => {
    const events = /^events +(\S+)\/events/.exec(await dev.line(/^events /))?.[1] ?? "";
    const script = [
      'curl() { command curl --silent --show-error --fail-with-body "$@"; }',
      `npx() { shift; "${process.execPath}" "${path.join(root, "lib", "cli", "main.ts")}" "$@"; }`,
      surroundings,
      block.replace("http://127.0.0.1:8789", events),
    ].join("\n");
    const env = { ...devEnvironment(), CARILLON_TOKEN: "" };
    const said = execFileSync("bash", ["-euc", script], {
      cwd: project.folder,
      encoding: "utf8",
      env,
      stdio: "pipe",
    });
    expect(said).not.toContain('"status":4');
  });
});
