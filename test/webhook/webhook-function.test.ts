import { readFile } from "node:fs/promises";
import { createServer } from "node:https";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { describe, expect, onTestFinished, test } from "vitest";
import { assemble } from "../../functions/webhook.ts";
import type { WebhookAnswer, WebhookRequest } from "../../lib/webhook/webhook-request.ts";
import { runNode } from "../support/run-node.ts";
import { certificates } from "../support/tls-front.ts";
import { receiver } from "./receiver.ts";

const request: WebhookRequest = {
  id: "7-1794-c0",
  url: "https://hooks.example.com/",
  method: "POST",
  headers: {},
  body: "{}",
  secrets: ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
  timeoutMs: 20_000,
};

const invocation = { awsRequestId: "1", getRemainingTimeInMillis: () => 30_000 };
const inProcess = (env: Record<string, string> = {}) => assemble({ CARILLON_LOG: "silent", ...env });

test("the function sends the request of its event", async () => {
  const { url, host, received } = await receiver((response) => response.writeHead(202).end("taken"));
  const { handler, close } = inProcess({ CARILLON_WEBHOOK_ALLOW: host });
  expect(await handler({ ...request, url }, invocation)).toEqual({
    kind: "answered",
    status: 202,
    retryAfterMs: null,
    excerpt: "taken",
  });
  expect(received).toMatchObject([{ body: "{}", headers: { "webhook-id": request.id } }]);
  await close();
});

test("the function does not start in AWS with a list of private hosts, nor with an unreadable list", () => {
  const allow = { CARILLON_WEBHOOK_ALLOW: "localhost:9000" };
  expect(() => inProcess({ ...allow, AWS_LAMBDA_FUNCTION_NAME: "webhook" })).toThrow("may not be set in AWS");
  expect(() => inProcess({ CARILLON_WEBHOOK_ALLOW: "localhost" })).toThrow("it takes host:port");
  expect(() => inProcess({ CARILLON_WEBHOOK_DENY: "10.0.0.0" })).toThrow("it takes networks like");
});

test.each([
  ["another method", { method: "GET" }],
  ["an id with a dot, which would end the id in the signed text", { id: "a.b" }],
  ["a line break in an id", { id: "a\r\nb" }],
  ["a line break in a header", { headers: { "x-team": "hidden\r\nhost: elsewhere" } }],
  ["a header without a name", { headers: { "": "hidden" } }],
  ["a blank in a header's name", { headers: { "x team": "hidden" } }],
  ["a secret that is not base64", { secrets: ["whsec_hidden!"] }],
  ["an empty secret", { secrets: ["whsec_"] }],
  ["three secrets", { secrets: ["aaaa", "bbbb", "cccc"] }],
  ["no time", { timeoutMs: 0 }],
  ["an unknown field", { proxy: "hidden" }],
])("an event with %s is an error that repeats no value of the event", async (_, wrong) => {
  const event = { ...request, ...wrong } as unknown as WebhookRequest;
  const failed: Error = await Promise.resolve()
    .then(() => inProcess().handler(event, invocation))
    .then(
      () => Promise.reject(new Error("The event was accepted.")),
      (error) => error,
    );
  expect(failed.name).toBe("ZodError");
  expect(failed.message).not.toContain("hidden");
});

/** A target that speaks TLS with this certificate and counts the requests that reach it. */
async function tlsTarget(
  certificate: "localhost" | "elsewhere",
): Promise<{ port: number; requests(): number }> {
  const [cert, key] = await Promise.all([
    readFile(new URL(`${certificate}.pem`, certificates)),
    readFile(new URL(`${certificate}.key`, certificates)),
  ]);
  let requests = 0;
  const server = createServer({ cert, key }, (incoming, response) => {
    requests += 1;
    response.end(`to ${incoming.headers.host}`);
  });
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return { port: address.port, requests: () => requests };
}

/**
 * Runs the function in a process of its own, because the trusted certificates are read at its
 * start.
 */
async function invoke(port: number, env: Record<string, string>): Promise<WebhookAnswer> {
  const module = `
    const { handler } = await import("./functions/webhook.ts");
    console.log(JSON.stringify(await handler(JSON.parse(process.env.EVENT), { awsRequestId: "1", getRemainingTimeInMillis: () => 30_000 })));`;
  const out = await runNode(module, {
    EVENT: JSON.stringify({ ...request, url: `https://localhost:${port}/` }),
    CARILLON_WEBHOOK_ALLOW: `localhost:${port}`,
    CARILLON_LOG: "silent",
    ...env,
  });
  return JSON.parse(out);
}

describe("TLS", () => {
  const trusting = { NODE_EXTRA_CA_CERTS: fileURLToPath(new URL("authority.pem", certificates)) };

  test("TLS works with a target whose certificate is trusted and has its name", async () => {
    const { port } = await tlsTarget("localhost");
    expect(await invoke(port, trusting)).toMatchObject({ status: 200, excerpt: `to localhost:${port}` });
  });

  test("TLS fails with an untrusted certificate, whatever the environment sets", async () => {
    const { port, requests } = await tlsTarget("localhost");
    for (const env of [{}, { NODE_TLS_REJECT_UNAUTHORIZED: "0" }])
      expect(await invoke(port, env)).toEqual({
        kind: "failed",
        error: `localhost:${port} showed a TLS certificate of an unknown authority (UNABLE_TO_VERIFY_LEAF_SIGNATURE).`,
      });
    expect(requests()).toBe(0);
  });

  test("TLS fails with a certificate for another name", async () => {
    const { port, requests } = await tlsTarget("elsewhere");
    expect(await invoke(port, trusting)).toEqual({
      kind: "failed",
      error: `localhost:${port} showed a TLS certificate for another name (ERR_TLS_CERT_ALTNAME_INVALID).`,
    });
    expect(requests()).toBe(0);
  });
});

test("a proxy in the environment gets no request", async () => {
  const proxy = await receiver((response) => response.end("proxied"));
  const { port } = await tlsTarget("localhost");
  const through = `http://${proxy.host}`;
  const answer = await invoke(port, {
    NODE_EXTRA_CA_CERTS: fileURLToPath(new URL("authority.pem", certificates)),
    NODE_USE_ENV_PROXY: "1",
    HTTP_PROXY: through,
    HTTPS_PROXY: through,
    https_proxy: through,
  });
  expect(answer).toMatchObject({ excerpt: `to localhost:${port}` });
  expect(proxy.received).toEqual([]);
});

test("the bundle contains one client of AWS, that of KMS, and no database client", async () => {
  const { metafile } = await build({
    absWorkingDir: path.join(import.meta.dirname, "..", ".."),
    entryPoints: ["functions/webhook.ts"],
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node24",
    minify: true,
    metafile: true,
    write: false,
    outfile: "webhook.mjs",
  });
  const packages = Object.keys(metafile.inputs).flatMap(
    (file) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? [],
  );
  const clients = packages.filter((name) => /^@aws-sdk\/client-|^postgres$|^@middy/.test(name));
  expect([...new Set(clients)]).toEqual(["@aws-sdk/client-kms"]);
  expect(metafile.outputs["webhook.mjs"]?.bytes).toBeLessThan(750_000);
});
