import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import type { WebhookAnswer } from "../../lib/webhook/webhook-request.ts";
import { serve } from "../support/tls-front.ts";
import { receiver } from "./receiver.ts";
import { secret, sender, toRaw, usual } from "./sender.ts";

/** Sends to a server that answers like this. */
async function answered(answer: (response: ServerResponse) => void): Promise<WebhookAnswer> {
  const { url, host } = await receiver(answer);
  return sender({ allow: host }).send(url);
}

describe("an answer", () => {
  test("the receiver gets exactly the request, and its answer is returned as it was given", async () => {
    const target = await receiver((response) => response.writeHead(201).end("made\n"));
    const { send } = sender({ allow: target.host });
    const body = '{"name":"Zoë \u2028"}';
    expect(await send(target.url, { method: "PUT", body })).toEqual({
      kind: "answered",
      status: 201,
      retryAfterMs: null,
      excerpt: "made",
    });
    expect(target.received).toEqual([
      {
        method: "PUT",
        path: "/hook?key=hidden-key",
        body,
        headers: {
          authorization: "Bearer hidden-token",
          "content-type": "application/cloudevents+json",
          host: target.host,
          connection: "close",
          "content-length": String(Buffer.byteLength(body)),
          "accept-encoding": "identity",
          "user-agent": expect.stringMatching(/^Carillon\//),
          "webhook-id": usual.id,
          "webhook-timestamp": "1793954977",
          "webhook-signature": expect.stringMatching(/^v1,[\w+/]{43}=$/),
        },
      },
    ]);
  });

  test.each([200, 204, 400, 404, 410, 500])(
    "the status %d of an answer without a body is returned, with no excerpt and no wait",
    async (status) => {
      expect(await answered((response) => response.writeHead(status).end())).toEqual({
        kind: "answered",
        status,
        retryAfterMs: null,
        excerpt: "",
      });
    },
  );

  test.each([301, 302, 303, 307, 308])("an answer with status %d is not followed", async (status) => {
    const elsewhere = await receiver((response) => response.end("here"));
    const target = await receiver((response) =>
      response.writeHead(status, { location: elsewhere.url }).end(),
    );
    const { send } = sender({ allow: `${target.host},${elsewhere.host}` });
    expect(await send(target.url)).toMatchObject({ kind: "answered", status });
    expect(elsewhere.received).toEqual([]);
  });

  test.each([
    [429, "30", 30_000],
    [503, "Fri, 06 Nov 2026 08:51:37 GMT", 120_000],
    [404, "7", 7_000],
    [200, "30", null],
  ])("only a failure has a wait: status %d, Retry-After: %s", async (status, retryAfter, retryAfterMs) => {
    expect(
      await answered((response) => response.writeHead(status, { "retry-after": retryAfter }).end()),
    ).toMatchObject({ status, retryAfterMs });
  });

  test("an answer that repeats confidential values does not show them", async () => {
    const { url, host } = await receiver((response) => {
      response.writeHead(400).end(`not Bearer hidden-token nor hidden-key nor ${secret}`);
    });
    expect(await sender({ allow: host }).send(url)).toMatchObject({ excerpt: "not *** nor *** nor ***" });
  });

  test("an endless answer is read to 64 KB and closed", async () => {
    const { promise: closed, resolve } = Promise.withResolvers<number>();
    const answer = await answered((response) => {
      let bytes = 0;
      response.writeHead(200);
      const more = () => {
        if (response.destroyed) return resolve(bytes);
        bytes += 1_024;
        if (response.write("x".repeat(1_024))) setImmediate(more);
        else response.once("drain", more);
      };
      response.once("close", more);
      more();
    });
    expect(answer).toEqual({ kind: "answered", status: 200, retryAfterMs: null, excerpt: "x".repeat(1_024) });
    // More than 64 KB leaves the receiver: the buffers between the two are filled too.
    expect(await closed).toBeLessThan(16 * 1_024 * 1_024);
  });

  test("an answer of 1 MB counts by its status", async () => {
    const answer = await answered((response) => response.writeHead(202).end("y".repeat(1_024 * 1_024)));
    expect(answer).toMatchObject({ kind: "answered", status: 202 });
  });

  test("an answer that is cut off after its head counts by its status", async () => {
    const answer = await answered((response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("some of it", () => response.destroy());
    });
    expect(answer).toMatchObject({ kind: "answered", status: 200, excerpt: "some of it" });
  });

  test("an answer that switches to another protocol is closed", async () => {
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    const port = await serve((socket) => {
      socket.once("close", () => resolve());
      socket.once("data", () => {
        socket.write("HTTP/1.1 101 Sure\r\nconnection: upgrade\r\nupgrade: other\r\n\r\nwords of it");
      });
    });
    expect(await toRaw(port)).toMatchObject({ kind: "answered", status: 101, excerpt: "" });
    await closed;
  });
});

test("the log of a webhook has job, host, status and duration, and nothing of the request", async () => {
  const target = await receiver((response) => response.writeHead(500).end("hidden-answer"));
  const { send, log } = sender({ allow: `${target.host},127.0.0.1:1`, resolve: async () => ["10.0.0.1"] });
  await send(target.url);
  await send("http://127.0.0.1:1/hidden-path?key=hidden-key");
  await send("https://hidden-user:hidden-password@hooks.example.com/");
  await send("https://hooks.example.com/hidden-path?key=hidden-key");
  expect(log.lines).toEqual([
    {
      level: "info",
      event: "webhook.answered",
      fields: { job: usual.id, host: target.host, status: 500, ms: 0 },
    },
    {
      level: "warn",
      event: "webhook.failed",
      fields: { job: usual.id, host: "127.0.0.1:1", ms: 0, error: expect.any(String) },
    },
    { level: "warn", event: "webhook.refused", fields: { job: usual.id, error: expect.any(String) } },
    {
      level: "warn",
      event: "webhook.refused",
      fields: { job: usual.id, host: "hooks.example.com", ms: 0, error: expect.any(String) },
    },
  ]);
  expect(JSON.stringify(log.lines)).not.toContain("hidden");
  expect(JSON.stringify(log.lines)).not.toContain(secret.slice(6));
});
