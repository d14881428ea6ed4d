import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type StackProcess, startProcess } from "../local/local-stack.ts";

const script = path.join(import.meta.dirname, "run.ts");

describe("the smoke test", () => {
  let folder: string;
  let stack: StackProcess;

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), "carillon-smoke-"));
    stack = await startProcess(folder);
  });

  afterAll(async () => {
    await stack.end("SIGTERM");
    rmSync(folder, { recursive: true, force: true });
  });

  /** `npm run smoke` as an operator would run it, here against the local stack. */
  async function smoke(env: Record<string, string>): Promise<{ code: number | null; said: string }> {
    const deployment = {
      CARILLON_URL: stack.urls.api,
      CARILLON_TOKEN: "test-token",
      INGEST_QUEUE_URL: `${stack.urls.sqs}/000000000000/carillon-ingest`,
      AWS_ENDPOINT_URL: stack.urls.sqs,
      AWS_REGION: "us-east-1",
      AWS_ACCESS_KEY_ID: "smoke",
      AWS_SECRET_ACCESS_KEY: "smoke",
    };
    const child = spawn(process.execPath, [script], {
      env: { PATH: process.env["PATH"], ...deployment, ...env },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
    return { code, said };
  }

  test("the smoke test takes the whole path, by HTTPS and by the queue of commands, and leaves nothing behind", async () => {
    const { code, said } = await smoke({});
    expect(said).toContain("The whole way works.");
    expect(said.match(/the ledger has that one job, succeeded/g)).toHaveLength(2);
    expect(said).not.toMatch(/^(not tried|left behind)/m);
    expect(code).toBe(0);
    const response = await stack.request("GET", "/v1/schedules?prefix=smoke-");
    expect(await response.json()).toEqual({ items: [] });
  });

  test("the smoke test fails when the token is refused, and reports it", async () => {
    const { code, said } = await smoke({ CARILLON_TOKEN: "another-token" });
    expect(said).toMatch(/^not ok {2}.*401/m);
    expect(code).toBe(1);
  });

  test.each([
    ["CARILLON_URL", "CARILLON_URL takes"],
    ["CARILLON_TOKEN", "CARILLON_TOKEN takes"],
    ["AWS_REGION", "AWS_REGION takes"],
  ])("the smoke test names the missing %s", async (variable, sentence) => {
    const { code, said } = await smoke({ [variable]: "" });
    expect(said).toContain(sentence);
    expect(code).toBe(1);
  });
});
