import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type StackProcess, startProcess } from "./local/local-stack.ts";
import { until } from "./support/until.ts";

const root = path.join(import.meta.dirname, "..");
const hasCurl = spawnSync("curl", ["--version"]).status === 0;

/** The shell blocks of one section of a document, unchanged. */
function shellBlocks(file: string, heading: string): string[] {
  const text = readFileSync(path.join(root, file), "utf8");
  const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? "";
  return [...section.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = ""]) => block);
}

describe.runIf(hasCurl)("the documents (needs curl)", () => {
  let folder: string;
  let stack: StackProcess;

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), "carillon-readme-"));
    stack = await startProcess(path.join(folder, ".carillon"));
  });

  afterAll(async () => {
    await stack.end("SIGTERM");
    rmSync(folder, { recursive: true, force: true });
  });

  /**
   * Runs a block as a user would, but on this stack's ports, with a token that it knows, and
   * failing when HTTP fails.
   */
  const run = (block: string) => {
    const { api, events, sqs } = stack.urls;
    const script = block
      .replace("$(cat .carillon/token)", "test-token")
      .replaceAll("http://127.0.0.1:8787", api)
      .replaceAll("http://127.0.0.1:8788", sqs)
      .replaceAll("http://127.0.0.1:8789", events)
      .replaceAll("npx carillon ", `"${process.execPath}" "${root}/lib/cli/main.ts" `)
      .replaceAll("curl ", "curl --silent --show-error --fail ");
    return execFileSync("bash", ["-euc", `export CARILLON_TOKEN=test-token\n${script}`], {
      cwd: folder,
      encoding: "utf8",
    });
  };

  test("every command of the README's first schedule succeeds, and the event of the schedule arrives", async () => {
    const [create = "", look = "", ...more] = shellBlocks("README.md", "A first schedule in a minute");
    expect(run(create)).toContain('"key":"hello"');
    await until("the job has succeeded", async () => run(look).includes('"state":"succeeded"'));
    expect(run(look)).toContain('"subject":"hello"');
    for (const block of more) run(block);
  });

  test("the recurring schedule of docs/first-steps.md answers with its occurrences", () => {
    const [weekly = ""] = shellBlocks("docs/first-steps.md", "A schedule that recurs");
    expect(run(weekly)).toContain('"occurrences":["');
  });

  test.each([
    "docs/first-steps.md",
    "docs/api.md",
    "docs/time.md",
    "docs/jobs.md",
    "docs/cli.md",
    "docs/migrate.md",
    "docs/runbook.md",
  ])(
    "every command in %s succeeds",
    (file) => {
      const text = readFileSync(path.join(root, file), "utf8");
      const blocks = [...text.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = ""]) => block);
      expect(blocks.length).toBeGreaterThan(2);
      for (const block of blocks) {
        // Creates the schedules that earlier commands of the page made, since another command may
        // have deleted them.
        for (const key of ["hello", "report:weekly"]) run(createdAgain(key));
        run(`export CARILLON_URL=http://127.0.0.1:8787\n${withoutPlaceholders(block)}`);
      }
      // Long, since each command is a process of its own.
    },
    120_000,
  );
});

function createdAgain(key: string): string {
  const twice = ["in 1h", "0 9 * * MON"].map(
    (when) =>
      `curl -X PUT http://127.0.0.1:8787/v1/schedules/${key} -H "Authorization: Bearer $CARILLON_TOKEN" -H "Content-Type: application/json" -d '{ "when": "${when}", "target": { "queue": "demo" } }'`,
  );
  return twice.join("\n");
}

function withoutPlaceholders(block: string): string {
  return block
    .split("\n")
    .filter((line) => !line.includes("<id>"))
    .join("\n");
}

test.each(["README.md", "docs/develop.md", "docs/local.md", "docs/benchmarks.md", "docs/testing-policy.md"])(
  "every npm script that %s names exists",
  (file) => {
    const { scripts } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
    const named = readFileSync(path.join(root, file), "utf8").matchAll(/npm run ([a-z:]+)/g);
    for (const [, name = ""] of named) expect(Object.keys(scripts)).toContain(name);
  },
);

test("the README starts the stack with two commands, and has at most 150 lines", () => {
  expect(shellBlocks("README.md", "Start: two commands")).toEqual(["npm ci\nnpm start\n"]);
  expect(readFileSync(path.join(root, "README.md"), "utf8").split("\n").length).toBeLessThanOrEqual(151);
});
