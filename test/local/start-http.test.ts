import { once } from "node:events";
import { connect } from "node:net";
import type { APIGatewayProxyEventV2 } from "aws-lambda";
import { afterEach, describe, expect, test } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { silentLog } from "../../lib/log/log.ts";
import { type LoopbackServer, PortTaken, readBody } from "../../lib/tools/local/http-server.ts";
import { localFunction } from "../../lib/tools/local/lambda/local-function.ts";
import { bodyBytesMax, listenWith, startHttp } from "../../lib/tools/local/lambda/start-http.ts";
import { noPage } from "../support/no-page.ts";
import { recordedLog } from "../support/recorded-log.ts";

const log = silentLog;
const clock = systemClock;
let server: LoopbackServer | undefined;

afterEach(async () => {
  await server?.close(100);
  server = undefined;
});

async function serve(
  handler: (event: APIGatewayProxyEventV2) => Promise<unknown>,
  { port = 0 } = {},
): Promise<LoopbackServer> {
  const assemble = () => ({ handler, close: async () => {} });
  const spec = { name: "api", assemble, env: {}, timeoutMs: 29_000, concurrency: 10 };
  return startHttp({ port, api: localFunction(spec, { clock, log }), page: noPage, clock, log });
}

describe("the local API", () => {
  test("the local API passes a request to the function and returns its answer", async () => {
    server = await serve(async ({ rawPath, body, requestContext }) => ({
      statusCode: 201,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ rawPath, body, method: requestContext.http.method }),
    }));
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${server.url}/v1/a%3Ab`, { method: "PUT", headers, body: "{}" });
    expect(response.status).toBe(201);
    expect(await response.json()).toEqual({ rawPath: "/v1/a:b", body: "{}", method: "PUT" });
  });

  test("the local API answers 413 to a body over ten megabytes and 400 to an invalid path without invoking the function", async () => {
    server = await serve(() => Promise.reject(new Error("asked")));
    const large = await fetch(server.url, { method: "POST", body: Buffer.alloc(10 * 1024 * 1024 + 1) });
    expect(large.status).toBe(413);
    expect((await fetch(`${server.url}/v1/%ff`)).status).toBe(400);
  });

  test("the local API answers 500 without details when the function throws", async () => {
    server = await serve(() => Promise.reject(new Error("a secret")));
    const response = await fetch(`${server.url}/v1/schedules`);
    expect(response.status).toBe(500);
    expect(await response.text()).toBe('{"message":"Internal Server Error"}');
  });

  test("the local API has the paths below /v1 and the health probe, and the page has all others, for every method", async () => {
    server = await serve(async () => ({ statusCode: 200, body: "API" }));
    const answers = async (method: string, paths: readonly string[]) =>
      Promise.all(paths.map(async (path) => (await fetch(`${server?.url}${path}`, { method })).status));
    for (const method of ["GET", "POST"]) {
      expect(await answers(method, ["/v1", "/v1/schedules/a", "/health"])).toEqual([200, 200, 200]);
      expect(await answers(method, ["/", "/v10", "/health/", "/schedules/v1"])).toEqual([404, 404, 404, 404]);
    }
  });

  test("the local API answers 404 for a test clock, and says how a stack gets one", async () => {
    server = await serve(async () => ({ statusCode: 200 }));
    const response = await fetch(`${server.url}/test/clock`, { method: "POST" });
    expect([response.status, await response.text()]).toEqual([
      404,
      expect.stringContaining("carillon dev --test-clock"),
    ]);
  });

  test("a request whose caller has closed the connection is not begun any more", async () => {
    const gate = Promise.withResolvers<void>();
    const begun: string[] = [];
    const handler = async ({ rawPath }: APIGatewayProxyEventV2) => {
      begun.push(rawPath);
      await gate.promise;
      return { statusCode: 200 };
    };
    const assemble = () => ({ handler, close: async () => {} });
    const spec = { name: "api", assemble, env: {}, timeoutMs: 29_000, concurrency: 1 };
    const one = localFunction(spec, { clock, log: silentLog });
    const signals = new Map<string, PromiseWithResolvers<AbortSignal | undefined>>();
    for (const each of ["/v1/first", "/v1/second"]) signals.set(each, Promise.withResolvers());
    const api: typeof one = {
      ...one,
      invoke: (event, signal) => {
        signals.get(event.rawPath)?.resolve(signal);
        return one.invoke(event, signal);
      },
    };
    server = await startHttp({ port: 0, api, page: noPage, clock, log: silentLog });
    const first = fetch(`${server.url}/v1/first`);
    await signals.get("/v1/first")?.promise;
    const leaving = new AbortController();
    const second = fetch(`${server.url}/v1/second`, { signal: leaving.signal }).catch(() => "left");
    const gone = await signals.get("/v1/second")?.promise;
    leaving.abort();
    expect(await second).toBe("left");
    await expect.poll(() => gone?.aborted).toBe(true);
    gate.resolve();
    expect((await first).status).toBe(200);
    expect((await fetch(`${server.url}/v1/third`)).status).toBe(200);
    // The work of callers that are gone would keep the others waiting.
    expect(begun).toEqual(["/v1/first", "/v1/third"]);
  });

  test("a body that breaks off is no error of the local API", async () => {
    const log = recordedLog();
    const ended = Promise.withResolvers<void>();
    const callers = { hosts: [], origins: [] };
    server = await listenWith({ port: 0, callers, log }, async (request) => {
      await readBody(request, bodyBytesMax).finally(() => ended.resolve());
      throw new Error("The whole body arrived.");
    });
    const socket = connect(server.port, "127.0.0.1");
    await once(socket, "connect");
    socket.write("PUT /v1/a HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\nhalf");
    socket.end();
    await ended.promise;
    await new Promise(setImmediate);
    expect(log.lines).toEqual([]);
  });

  test("the local API names the port that is taken", async () => {
    server = await serve(async () => ({ statusCode: 200 }));
    await expect(serve(async () => ({ statusCode: 200 }), { port: server.port })).rejects.toMatchObject({
      name: "PortTaken",
      port: server.port,
    });
    expect(new PortTaken(8787).message).toContain("8787");
  });
});
