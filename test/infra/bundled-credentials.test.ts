import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bundledInstead, requireForModules } from "../../infra/functions/function-format.ts";
import { runNode } from "../support/run-node.ts";

const root = path.join(import.meta.dirname, "..", "..");

/** The functions' own use of the SDK: a client, and login tokens. */
const calls = `
  import { GetQueueUrlCommand, SQSClient } from "@aws-sdk/client-sqs";
  import { Signer } from "@aws-sdk/rds-signer";
  const region = "eu-west-1";
  await new SQSClient({ region, maxAttempts: 1 }).send(new GetQueueUrlCommand({ QueueName: "work" }));
  console.log(await new Signer({ region, hostname: "db", port: 5432, username: "tick" }).getAuthToken());`;

let folder: string;
let bundle: string;
const asked: IncomingHttpHeaders[] = [];
const queues = createServer((request, response) => {
  asked.push(request.headers);
  response.setHeader("content-type", "application/x-amz-json-1.0").end('{"QueueUrl":"http://queue"}');
});

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "carillon-credentials-"));
  bundle = path.join(folder, "index.mjs");
  await build({
    stdin: { contents: calls, resolveDir: root },
    outfile: bundle,
    bundle: true,
    format: "esm",
    platform: "node",
    mainFields: ["module", "main"],
    banner: { js: requireForModules },
    alias: bundledInstead(root),
  });
  await once(queues.listen(0, "127.0.0.1"), "listening");
});

afterAll(() => {
  queues.close();
  rmSync(folder, { recursive: true, force: true });
});

function run(env: Record<string, string>): Promise<string> {
  const address = queues.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  const endpoint = { AWS_ENDPOINT_URL_SQS: `http://127.0.0.1:${address.port}` };
  return runNode(`await import(${JSON.stringify(bundle)})`, { ...endpoint, ...env });
}

test("a bundle signs requests with the credentials of its function's role", async () => {
  const token = await run({
    AWS_ACCESS_KEY_ID: "AKIDROLE",
    AWS_SECRET_ACCESS_KEY: "secret",
    AWS_SESSION_TOKEN: "of-the-session",
  });
  expect(asked).toHaveLength(1);
  expect(asked[0]?.authorization).toContain("Credential=AKIDROLE/");
  expect(asked[0]?.["x-amz-security-token"]).toBe("of-the-session");
  expect(token).toMatch(/^db:5432\/\?.*X-Amz-Credential=AKIDROLE%2F.*X-Amz-Security-Token=of-the-session/);
});

test("credentials of an emulator need no session token", async () => {
  const token = await run({ AWS_ACCESS_KEY_ID: "AKIDTEST", AWS_SECRET_ACCESS_KEY: "secret" });
  expect(token).toContain("X-Amz-Credential=AKIDTEST%2F");
  expect(token).not.toContain("X-Amz-Security-Token");
});

test("without credentials a bundle names the missing variable in its error", async () => {
  await expect(run({})).rejects.toThrow("The environment variable AWS_ACCESS_KEY_ID is not set");
});
