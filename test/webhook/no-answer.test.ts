import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { describe, expect, test } from "vitest";
import type { ManualClock } from "../support/manual-clock.ts";
import { serve } from "../support/tls-front.ts";
import { receiver } from "./receiver.ts";
import { sender, toRaw } from "./sender.ts";

const rawServer = (reply: string | null) =>
  serve((socket) =>
    socket.once("data", () => {
      if (reply === null) socket.destroy();
      else socket.write(reply);
    }),
  );

const early = "HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n";

describe("no answer", () => {
  test("a closed connection is no answer", async () => {
    expect(await toRaw(await rawServer(null))).toEqual({
      kind: "failed",
      error: expect.stringMatching(
        /^localhost:\d+ closed the connection without an answer \(ECONNRESET\)\.$/,
      ),
    });
  });

  test("text that is not HTTP is no answer", async () => {
    const answer = await toRaw(await rawServer("SSH-2.0-OpenSSH_9.6\r\n"));
    expect(answer).toEqual({
      kind: "failed",
      error: expect.stringMatching(/^localhost:\d+ did not answer in HTTP \(HPE_/),
    });
  });

  test("a head of more than 16 KB is no answer, and a smaller one is", async () => {
    const head = (bytes: number) =>
      `HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx-long: ${"x".repeat(bytes)}\r\n\r\n`;
    expect(await toRaw(await rawServer(head(17 * 1_024)))).toEqual({
      kind: "failed",
      error: expect.stringMatching(/^localhost:\d+ answered with more than 16 KB of headers/),
    });
    expect(await toRaw(await rawServer(head(15 * 1_024)))).toMatchObject({ kind: "answered" });
  });

  test("informational answers without end are no answer, and the connection is closed after a few of them", async () => {
    const { promise: closed, resolve } = Promise.withResolvers<number>();
    const port = await serve((socket) => {
      socket.once("close", () => resolve(socket.bytesWritten));
      const more = () => {
        while (!socket.destroyed && socket.write(early.repeat(1_500)));
      };
      socket.on("drain", more).once("data", more);
    });
    expect(await toRaw(port)).toEqual({
      kind: "failed",
      error: `localhost:${port} sent more than ten informational answers (status 1xx) and no other answer (INFORMATIONAL_OVERFLOW).`,
    });
    // More than ten leave the server: the buffers between the two are filled too.
    expect(await closed).toBeLessThan(16 * 1_024 * 1_024);
  });

  test("ten informational answers before an answer do not count", async () => {
    const answer = `${early.repeat(9)}HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 Done\r\n\r\n`;
    expect(await toRaw(await rawServer(answer))).toMatchObject({ kind: "answered", status: 204 });
  });

  test("a port without a server is no answer", async () => {
    expect(await sender({ allow: "127.0.0.1:1" }).send("http://127.0.0.1:1/")).toEqual({
      kind: "failed",
      error: "127.0.0.1:1 refused the connection (ECONNREFUSED).",
    });
  });

  test("a name that DNS does not know, or knows without an address, is no answer", async () => {
    const unknown = sender({
      resolve: () => Promise.reject(Object.assign(new Error("getaddrinfo"), { code: "ENOTFOUND" })),
    });
    const error = expect.stringContaining("hooks.example.com has no address in DNS");
    expect(await unknown.send("https://hooks.example.com/")).toEqual({ kind: "failed", error });
    expect(await sender().send("https://hooks.example.com/")).toEqual({ kind: "failed", error });
  });
});

describe("the time limit", () => {
  /** Lets the time limit pass once the target is stuck. */
  async function over(clock: ManualClock, stuck: Promise<void>, ms = 5_000): Promise<void> {
    await stuck;
    await clock.advance(ms);
  }

  test("the time limit ends an attempt at a silent target", async () => {
    const { promise: stuck, resolve } = Promise.withResolvers<void>();
    const { url, host } = await receiver(() => resolve());
    const { send, clock } = sender({ allow: host });
    const answer = send(url);
    await over(clock, stuck, 4_999);
    expect(await Promise.race([answer, Promise.resolve("waiting")])).toBe("waiting");
    await clock.advance(1);
    expect(await answer).toEqual({ kind: "failed", error: `${host} did not answer within 5 s.` });
  });

  test("the time limit ends an attempt at a target that accepts the connection and never speaks TLS", async () => {
    const { promise: stuck, resolve } = Promise.withResolvers<void>();
    const port = await serve((socket) => socket.once("data", () => resolve()));
    const { send, clock } = sender({ allow: `127.0.0.1:${port}` });
    const answer = send(`https://127.0.0.1:${port}/`);
    await over(clock, stuck);
    expect(await answer).toMatchObject({ kind: "failed", error: expect.stringContaining("within 5 s") });
  });

  test("the time limit ends a DNS lookup", async () => {
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

  test("the time limit ends a body that arrives slowly, and the status counts", async () => {
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

  test("the time limit includes that of the invocation, and nothing is sent without time left", async () => {
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

/** Resolves at Node's next message on this diagnostics channel. */
function once(channel: string): Promise<void> {
  return new Promise((resolve) => {
    const told = () => {
      unsubscribe(channel, told);
      resolve();
    };
    subscribe(channel, told);
  });
}
