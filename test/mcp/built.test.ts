import { globSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildPrograms } from "../../infra/tools/package/published/carillon.ts";
import { type OwnAgents, ownAgents } from "./own-agent.ts";

let agents: OwnAgents;
let built: string;

beforeAll(async () => {
  agents = await ownAgents();
  built = mkdtempSync(path.join(tmpdir(), "carillon-mcp-built-"));
  await buildPrograms(built);
  // Node needs this to load it as a module; the package's own package.json has the same.
  writeFileSync(path.join(built, "package.json"), '{"type":"module"}');
});

afterAll(async () => {
  await agents.stop();
  rmSync(built, { recursive: true });
});

const withSdk = () =>
  globSync("**/*.js", { cwd: built }).filter((file) =>
    readFileSync(path.join(built, file), "utf8").includes("tools/call"),
  );

test("The SDK is in one file of the package, of at most 500 kB, which only `carillon mcp` loads", () => {
  const [file = "", ...others] = withSdk();
  expect(others).toEqual([]);
  expect(statSync(path.join(built, file)).size).toBeLessThan(500_000);
  const importers = globSync("**/*.js", { cwd: built }).flatMap((each) => {
    const text = readFileSync(path.join(built, each), "utf8");
    return text.includes(path.basename(file)) ? [text] : [];
  });
  expect(importers).toHaveLength(1);
  expect(importers[0]).toContain(`import("./${path.basename(file)}")`);
});

test("The built CLI serves an agent, also its refusals and changes", async () => {
  const agent = await agents.agent({ args: ["--write"], program: path.join(built, "cli.js") });
  const schedule = { when: "every 1h", target: { queue: "demo" } };
  expect((await agent.confirm("put_schedule", { key: "a", schedule })).text).toMatch(/^Created a: version 1/);
  expect(await agent.call("get_schedule", { key: "b" })).toMatchObject({
    isError: true,
    data: { error: { status: 404 } },
  });
  expect((await agent.call("hold", { key: "a", until: "soon" })).text).toMatch(/^until takes an instant/);
  expect(agent.notes()).toBe("");
});
