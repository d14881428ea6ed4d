import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { reachFrom } from "../../lib/webhook/reach.ts";
import { type Resolve, sendWebhook } from "../../lib/webhook/send-webhook.ts";
import type { WebhookAnswer, WebhookRequest } from "../../lib/webhook/webhook-request.ts";
import { type ManualClock, manualClock } from "../support/manual-clock.ts";
import { recordedLog } from "../support/recorded-log.ts";
import { serve } from "../support/tls-front.ts";
import { receiver } from "./receiver.ts";

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

function sender({ allow = "", resolve }: { allow?: string; resolve?: Resolve } = {}) {
  const clock = manualClock("2026-11-06T08:49:37Z");
  const log = recordedLog();
  const asked: string[] = [];
  const parts = {
    clock,
    log,
    reach: reachFrom({ CARILLON_WEBHOOK_ALLOW: allow }),
    resolve: async (name: string) => {
      asked.push(name);
      return (await resolve?.(name)) ?? [];
    },
  };
  const send = (url: string, more: Partial<WebhookRequest> = {}, remainingMs = 60_000) =>
    sendWebhook(parts, { ...usual, url, ...more }, remainingMs);
  return { send, clock, log, asked };
}

const usual: Omit<WebhookRequest, "url"> = {
  id: "7-1794-c0",
  method: "POST",
  headers: { authorization: "Bearer hidden-token" },
  body: '{"data":"hidden-body"}',
  secrets: [secret],
  timeoutMs: 5_000,
};

/** Sends to a server that answers like this. */
async function answered(answer: (response: ServerResponse) => void): Promise<WebhookAnswer> {
  const { url, host } = await receiver(answer);
  return sender({ allow: host }).send(url);
}

describe("an answer", () => {
  test("is what the target says, to exactly what was to be sent", async () => {
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

  test.each([200, 204, 400, 404, 410, 500])("of status %d is no more than that", async (status) => {
    expect(await answered((response) => response.writeHead(status).end())).toEqual({
      kind: "answered",
      status,
      retryAfterMs: null,
      excerpt: "",
    });
  });

  test.each([301, 302, 303, 307, 308])("of status %d leads nowhere", async (status) => {
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
  ])("of status %d with Retry-After: %s", async (status, retryAfter, retryAfterMs) => {
    expect(
      await answered((response) => response.writeHead(status, { "retry-after": retryAfter }).end()),
    ).toMatchObject({ status, retryAfterMs });
  });

  test("shows nothing of what was sent in confidence when it comes back", async () => {
    const { url, host } = await receiver((response) => {
      response.writeHead(400).end(`not Bearer hidden-token nor hidden-key nor ${secret}`);
    });
    expect(await sender({ allow: host }).send(url)).toMatchObject({ excerpt: "not *** nor *** nor ***" });
  });

  test("without an end is read to 64 KB and closed", async () => {
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
    // What the buffers between the two hold is sent as well.
    expect(await closed).toBeLessThan(16 * 1_024 * 1_024);
  });

  test("of 1 MB counts by its status", async () => {
    const answer = await answered((response) => response.writeHead(202).end("y".repeat(1_024 * 1_024)));
    expect(answer).toMatchObject({ kind: "answered", status: 202 });
  });

  test("that is cut off behind its head counts by its status", async () => {
    const answer = await answered((response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("some of it", () => response.destroy());
    });
    expect(answer).toMatchObject({ kind: "answered", status: 200, excerpt: "some of it" });
  });

  test("that switches to another protocol is closed", async () => {
    const port = await rawServer("HTTP/1.1 101 Sure\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n");
    expect(await toRaw(port)).toMatchObject({ kind: "answered", status: 101 });
  });
});

const rawServer = (reply: string | null) =>
  serve((socket) =>
    socket.once("data", () => {
      if (reply === null) socket.destroy();
      else socket.write(reply);
    }),
  );

function toRaw(port: number, protocol = "http"): Promise<WebhookAnswer> {
  const { send } = sender({ allow: `localhost:${port}`, resolve: async () => ["127.0.0.1", "::1"] });
  return send(`${protocol}://localhost:${port}/?key=hidden-key`);
}

describe("no answer", () => {
  test("is a connection that is closed", async () => {
    expect(await toRaw(await rawServer(null))).toEqual({
      kind: "failed",
      error: expect.stringMatching(
        /^localhost:\d+ closed the connection without an answer \(ECONNRESET\)\.$/,
      ),
    });
  });

  test("is something that is not HTTP", async () => {
    const answer = await toRaw(await rawServer("SSH-2.0-OpenSSH_9.6\r\n"));
    expect(answer).toEqual({
      kind: "failed",
      error: expect.stringMatching(/^localhost:\d+ did not answer in HTTP \(HPE_/),
    });
  });

  test("is a head of more than 16 KB, and one of less is an answer", async () => {
    const head = (bytes: number) =>
      `HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx-long: ${"x".repeat(bytes)}\r\n\r\n`;
    expect(await toRaw(await rawServer(head(17 * 1_024)))).toEqual({
      kind: "failed",
      error: expect.stringMatching(/^localhost:\d+ answered with more than 16 KB of headers/),
    });
    expect(await toRaw(await rawServer(head(15 * 1_024)))).toMatchObject({ kind: "answered" });
  });

  test("is a port where nobody listens", async () => {
    expect(await sender({ allow: "127.0.0.1:1" }).send("http://127.0.0.1:1/")).toEqual({
      kind: "failed",
      error: "127.0.0.1:1 refused the connection (ECONNREFUSED).",
    });
  });

  test("is a name that DNS does not know, or knows without an address", async () => {
    const unknown = sender({
      resolve: () => Promise.reject(Object.assign(new Error("getaddrinfo"), { code: "ENOTFOUND" })),
    });
    const error = expect.stringContaining("hooks.example.com has no address in DNS");
    expect(await unknown.send("https://hooks.example.com/")).toEqual({ kind: "failed", error });
    expect(await sender().send("https://hooks.example.com/")).toEqual({ kind: "failed", error });
  });
});

describe("time", () => {
  /** Lets the bound pass once the target is where it stays. */
  async function over(clock: ManualClock, stuck: Promise<void>, ms = 5_000): Promise<void> {
    await stuck;
    await clock.advance(ms);
  }

  test("is over for a target that says nothing", async () => {
    const { promise: stuck, resolve } = Promise.withResolvers<void>();
    const { url, host } = await receiver(() => resolve());
    const { send, clock } = sender({ allow: host });
    const answer = send(url);
    await over(clock, stuck, 4_999);
    expect(await Promise.race([answer, Promise.resolve("waiting")])).toBe("waiting");
    await clock.advance(1);
    expect(await answer).toEqual({ kind: "failed", error: `${host} did not answer within 5 s.` });
  });

  test("is over for a target that takes the connection and never speaks TLS", async () => {
    const { promise: stuck, resolve } = Promise.withResolvers<void>();
    const port = await serve((socket) => socket.once("data", () => resolve()));
    const { send, clock } = sender({ allow: `127.0.0.1:${port}` });
    const answer = send(`https://127.0.0.1:${port}/`);
    await over(clock, stuck);
    expect(await answer).toMatchObject({ kind: "failed", error: expect.stringContaining("within 5 s") });
  });

  test("is over for DNS", async () => {
    const { promise: stuck, resolve } = Promise.withResolvers<void>();
    const { send, clock } = sender({
      resolve: () => {
        resolve();
        return new Promise(() => {});
      },
    });
    const answer = send("https://hooks.example.com/");
    await over(clock, stuck);
    expect(await answer).toEqual({ kind: "failed", error: "hooks.example.com did not answer within 5 s." });
  });

  test("is over for a body that drips, and the status counts", async () => {
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    const { url, host } = await receiver((response) => {
      response.once("close", () => resolve());
      response.writeHead(200);
      response.write("drip");
    });
    const { send, clock } = sender({ allow: host });
    const headCame = once("http.client.response.finish");
    const answer = send(url);
    await over(clock, headCame);
    expect(await answer).toMatchObject({ kind: "answered", status: 200 });
    await closed;
  });

  test("is also the invocation's, and where nothing of it is left nothing is sent", async () => {
    const { promise: stuck, resolve } = Promise.withResolvers<void>();
    const { url, host, received } = await receiver(() => resolve());
    const { send, clock } = sender({ allow: host });
    const answer = send(url, {}, 2_000);
    await over(clock, stuck, 1_500);
    expect(await answer).toEqual({ kind: "failed", error: `${host} did not answer within 1.5 s.` });
    expect(await send(url, {}, 500)).toEqual({
      kind: "failed",
      error: `There was no time left to send to ${host}.`,
    });
    expect(received).toHaveLength(1);
  });
});

/** The next thing that Node tells on this channel of its own. */
function once(channel: string): Promise<void> {
  return new Promise((resolve) => {
    const told = () => {
      unsubscribe(channel, told);
      resolve();
    };
    subscribe(channel, told);
  });
}

describe("the address", () => {
  const listening = async () => {
    const { host, received } = await receiver((response) => response.end("here"));
    const named = host.replace("127.0.0.1", "hooks.example.com");
    return { named, url: `http://${named}/`, received };
  };

  test("that was checked is the one connected to, looked up once an attempt and anew for each", async () => {
    const { named, url, received } = await listening();
    // Nobody listens on that port of the second.
    const turns = [["127.0.0.1"], ["::1"]];
    const { send, asked } = sender({ allow: named, resolve: async () => turns.shift() ?? [] });
    expect(await send(url)).toMatchObject({ kind: "answered", excerpt: "here" });
    expect(asked).toEqual(["hooks.example.com"]);
    expect(received.map(({ headers }) => headers.host)).toEqual([named]);
    expect(await send(url)).toMatchObject({ kind: "failed" });
    expect(asked).toEqual(["hooks.example.com", "hooks.example.com"]);
    expect(received).toHaveLength(1);
  });

  test("is the next one where the first takes no connection", async () => {
    const { named, url } = await listening();
    const { send } = sender({ allow: named, resolve: async () => ["::1", "127.0.0.2", "127.0.0.1"] });
    expect(await send(url)).toMatchObject({ kind: "answered", excerpt: "here" });
  });

  test("is checked at each attempt", async () => {
    const { send, asked } = sender({ resolve: async () => ["169.254.169.254"] });
    for (let attempt = 1; attempt <= 2; attempt++) {
      expect(await send("https://hooks.example.com/")).toEqual({
        kind: "refused",
        error:
          "hooks.example.com points to 169.254.169.254, which is a link-local address: webhooks go only to public addresses.",
      });
      expect(asked).toHaveLength(attempt);
    }
  });

  test.each([
    [["1.1.1.1", "127.0.0.1"]],
    [["127.0.0.1", "1.1.1.1"]],
    [["1.1.1.1", "2606:4700::1", "::ffff:10.0.0.1"]],
    [["1.1.1.1", "fe80::1%eth0"]],
    [["1.1.1.1", ""]],
  ])("that is private condemns the public ones beside it: %j", async (addresses) => {
    const { send } = sender({ resolve: async () => addresses });
    expect(await send("https://hooks.example.com/")).toMatchObject({ kind: "refused" });
  });

  test("in the URL is not asked of DNS", async () => {
    const { send, asked } = sender({ resolve: async () => ["1.1.1.1"] });
    expect(await send("https://127.0.0.1/")).toMatchObject({ kind: "refused" });
    expect(await send("https://[::1]/")).toMatchObject({ kind: "refused" });
    expect(asked).toEqual([]);
  });
});

test("the log names job, host, status and duration, and nothing that was sent", async () => {
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
