import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { templateShape } from "../gaps.ts";
import { findLocalstack, howToInstall, pinned, variable } from "./localstack-process.ts";
import { leftOutLines, withResult } from "./report.ts";
import { withoutLambda } from "./without-lambda.ts";

const script = path.join(import.meta.dirname, "run.ts");
const page = readFileSync(path.join(import.meta.dirname, "..", "..", "..", "docs", "localstack.md"), "utf8");

async function run(env: NodeJS.ProcessEnv): Promise<{ code: number | null; said: string; failure: string }> {
  const child = spawn(process.execPath, [script], { env: { PATH: process.env["PATH"], ...env } });
  let said = "";
  let failure = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    failure += text;
  });
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  return { code, said, failure };
}

describe("npm run localstack:host", () => {
  test("without LocalStack, the command prints the lines that install it, and ends with 1", async () => {
    const { code, said, failure } = await run({});
    expect(failure).toBe(`${howToInstall(`${variable} is not set`)}\n`);
    expect(failure).toContain(`pip install "${pinned}"`);
    expect(said).toBe("");
    expect(code).toBe(1);
  });

  test("the message says whether the Python is missing, lacks LocalStack or has another version of it", () => {
    const folder = mkdtempSync(path.join(tmpdir(), "carillon-python-"));
    try {
      const python = (name: string, text: string) => {
        const file = path.join(folder, name);
        writeFileSync(file, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
        return file;
      };
      const found = (file: string) => findLocalstack({ [variable]: file });
      const [empty, old, right] = [
        python("empty", "exit 1"),
        python("old", "echo 4.0.0"),
        python("right", "echo 4.14.0"),
      ];
      expect(found(right)).toEqual({ python: right });
      expect(found(old)).toEqual({ missing: `${old} has version 4.0.0, and not 4.14.0` });
      expect(found(empty)).toEqual({
        missing: `${empty}, which ${variable} names, has no package localstack-core`,
      });
      const none = path.join(folder, "none");
      expect(found(none)).toEqual({ missing: `${variable} names ${none}, which cannot be run` });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test("docs/localstack.md has the lines that the command prints to install LocalStack", () => {
    const lines = howToInstall("").split("\n").slice(2);
    expect(lines).toHaveLength(3);
    for (const line of lines) expect(page).toContain(line.trim());
  });

  test("a written result replaces the earlier one in docs/localstack.md, and leaves the rest", () => {
    const whole = templateShape.parse({
      Resources: { Jobs: { Type: "AWS::SQS::Queue" }, Work: { Type: "AWS::Lambda::Function" } },
    });
    const adapted = withoutLambda(whole, "http://127.0.0.1:8787");
    const result = { pinned, whole, adapted, read: [], said: "left out  something\nok  it works\n" };
    const once = withResult(page, result);
    expect(withResult(once, result)).toBe(once);
    expect(once).toContain(": 1 of 2 resources");
    expect(once).toContain("```\nok  it works\n```");
    const outside = (text: string) => text.replace(/<!-- host mode.*<!-- end of host mode -->/s, "");
    expect(outside(once)).toBe(outside(page));
    expect(() => withResult("# A page", result)).toThrow("no marks");
  });

  test("each type that is left out has one line, with a count and a reason", () => {
    const why = "it does not run here";
    const of = (type: string, id: string) => ({ id, type, why });
    expect(leftOutLines([of("B", "one"), of("A", "two"), of("B", "three")])).toEqual([
      `1 A: ${why}`,
      `2 B: ${why}`,
    ]);
  });

  const localstack = process.env[variable] ?? "";
  test.skipIf(localstack === "")(
    `the command ends with 0 in LocalStack itself (skipped unless ${variable} names its Python)`,
    { timeout: 300_000 },
    async () => {
      const { code, said, failure } = await run({ [variable]: localstack });
      expect(failure).not.toMatch(/^not ok/m);
      expect(said).toContain("The whole way works.");
      expect(said).toContain("a rule passed the event on to a queue");
      expect(code).toBe(0);
    },
  );
});
