import { describe, expect, test } from "vitest";
import {
  Carillon,
  CarillonInputError,
  CarillonProblem,
  CarillonUnreachable,
  isConflict,
  isNotFound,
} from "../../lib/client/main.ts";
import { pause, retryAfterMs } from "../../lib/client/request/backoff.ts";
import { makeSend, type TransportParts } from "../../lib/client/request/transport.ts";

interface Sent {
  url: string;
  method: string | undefined;
  headers: Record<string, string>;
  body: unknown;
}

type Reply = (init: RequestInit | undefined) => Response | Promise<Response>;

function problem(status: number, more: object = {}, headers: Record<string, string> = {}): Response {
  const body = { type: "urn:carillon:problem:some", title: "Some", status, detail: "It is so.", ...more };
  return new Response(JSON.stringify(body), { status, headers });
}

const done = (body: unknown = {}) => new Response(JSON.stringify(body), { status: 200 });

function refusal(): never {
  throw new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED 127.0.0.1:1") });
}

/** A server with prepared replies, used in order; the last one repeats. */
function setup(replies: Reply[], more: Partial<TransportParts> = {}) {
  const sent: Sent[] = [];
  const waits: number[] = [];
  let keys = 0;
  const send = makeSend({
    url: "https://api.example.com/stage/",
    token: "secret",
    fetch: async (input, init) => {
      const headers = Object.fromEntries(new Headers(init?.headers).entries());
      const body: unknown = typeof init?.body === "string" ? JSON.parse(init.body) : undefined;
      sent.push({ url: String(input), method: init?.method, headers, body });
      const reply = replies[Math.min(sent.length, replies.length) - 1];
      if (reply === undefined) throw new Error("There is no reply.");
      return reply(init);
    },
    timeout: 1_000,
    retries: 4,
    headers: {},
    random: () => 0.5,
    now: () => Date.parse("2026-12-01T09:00:00Z"),
    pause: async (ms) => void waits.push(ms),
    newKey: () => `key-${++keys}`,
    ...more,
  });
  return { send, sent, waits };
}

const put = { method: "PUT", path: ["v1", "schedules", "order:1 ä"], body: { when: "in 3h" } } as const;

describe("requests of the client", () => {
  test("A request goes to its path below the given address, with the token, the body and the conditions", async () => {
    const { send, sent } = setup([() => done({ version: 1 })]);
    const options = { ifMatch: 3, ifNoneMatch: "*" } as const;
    expect(await send({ ...put, query: { a: new Date(0), b: undefined }, options })).toEqual({
      status: 200,
      body: { version: 1 },
    });
    expect(sent).toEqual([
      {
        url: "https://api.example.com/stage/v1/schedules/order:1%20%C3%A4?a=1970-01-01T00%3A00%3A00.000Z",
        method: "PUT",
        headers: {
          accept: "application/json, application/problem+json",
          authorization: "Bearer secret",
          "content-type": "application/json",
          "idempotency-key": "key-1",
          "if-match": '"3"',
          "if-none-match": "*",
        },
        body: { when: "in 3h" },
      },
    ]);
  });

  test("The token is requested for each attempt, so that a rotated one takes effect", async () => {
    const tokens = ["old", "new"];
    const { send, sent } = setup([() => problem(503), () => done()], { token: () => tokens.shift() ?? "" });
    await send(put);
    expect(sent.map(({ headers }) => headers["authorization"])).toEqual(["Bearer old", "Bearer new"]);
  });

  test.each(["api.example.com", "ftp://x", "https://user:word@x", "https://x?a=1", "https://x#a"])(
    "The address %s is refused",
    (url) => {
      expect(() => new Carillon({ url, token: "t" })).toThrow(TypeError);
    },
  );
});

describe("writes of the client", () => {
  test("A write is retried with the same Idempotency-Key, and each write has another", async () => {
    const { send, sent } = setup([refusal, () => problem(502), () => done()]);
    await send(put);
    await send(put);
    expect(sent.map(({ headers }) => headers["idempotency-key"])).toEqual([
      "key-1",
      "key-1",
      "key-1",
      "key-2",
    ]);
  });

  test("A write uses the caller's own key if there is one", async () => {
    const { send, sent } = setup([() => done()]);
    await send({ ...put, options: { idempotencyKey: "mine" } });
    expect(sent[0]?.headers["idempotency-key"]).toBe("mine");
  });

  test("A write without a key is not retried, except after a 429", async () => {
    const lost = setup([refusal]);
    await expect(lost.send({ ...put, options: { idempotencyKey: null } })).rejects.toThrow(
      CarillonUnreachable,
    );
    expect(lost.sent.map(({ headers }) => headers["idempotency-key"])).toEqual([undefined]);
    const limited = setup([() => problem(429), () => done()]);
    await limited.send({ ...put, options: { idempotencyKey: null } });
    expect(limited.sent).toHaveLength(2);
  });

  test("A POST that changes nothing has no key", async () => {
    const { send, sent } = setup([refusal, () => done()]);
    await send({ method: "POST", path: ["v1", "preview"], changes: false });
    expect(sent.map(({ headers }) => "idempotency-key" in headers)).toEqual([false, false]);
  });
});

describe("retries of the client", () => {
  test.each([429, 502, 503, 504])("Status %i is retried until the retries are used up", async (status) => {
    const { send, sent, waits } = setup([() => problem(status)]);
    await expect(send(put)).rejects.toMatchObject({ name: "CarillonProblem", status });
    expect(sent).toHaveLength(5);
    expect(waits).toEqual([100, 200, 400, 800]);
  });

  test.each([400, 401, 403, 404, 405, 409, 412, 422, 428, 500])(
    "Status %i is not retried",
    async (status) => {
      const { send, sent } = setup([() => problem(status)]);
      await expect(send(put)).rejects.toThrow(CarillonProblem);
      expect(sent).toHaveLength(1);
    },
  );

  test("A 409 with Retry-After is retried, because an earlier attempt may still be running", async () => {
    const { send, waits } = setup([() => problem(409, {}, { "retry-after": "1" }), () => done()]);
    await send(put);
    expect(waits).toEqual([1_000]);
  });

  test("A retry waits as long as Retry-After says, and is given up where that exceeds a minute", async () => {
    const told = setup([() => problem(429, {}, { "retry-after": "7" }), () => done()]);
    await told.send(put);
    expect(told.waits).toEqual([7_000]);
    const long = setup([() => problem(429, {}, { "retry-after": "61" })]);
    await expect(long.send(put)).rejects.toMatchObject({ status: 429, retryAfterMs: 61_000 });
    expect(long.sent).toHaveLength(1);
  });

  test("Waits are random up to a bound that doubles and is capped", async () => {
    const { send, waits } = setup([refusal], { random: () => 1, retries: 8 });
    await expect(send(put)).rejects.toThrow(CarillonUnreachable);
    expect(waits).toEqual([200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]);
  });

  test("onRetry is called before each wait", async () => {
    const told: string[] = [];
    const replies = [() => problem(429, {}, { "retry-after": "20" }), refusal, () => done()];
    const { send, waits } = setup(replies, {
      onRetry: ({ retry, waitMs, error }) => void told.push(`${retry} ${waitMs} ${error.name}`),
    });
    await send(put);
    expect(told).toEqual(["1 20000 CarillonProblem", "2 200 CarillonUnreachable"]);
    expect(waits).toEqual([20_000, 200]);
  });

  test("The caller's signal ends an attempt and a wait", async () => {
    const stop = new AbortController();
    const inTry = setup([
      (init) => {
        stop.abort(new Error("enough"));
        init?.signal?.throwIfAborted();
        return done();
      },
    ]);
    await expect(inTry.send({ ...put, options: { signal: stop.signal } })).rejects.toThrow("enough");
    expect(inTry.sent).toHaveLength(1);

    const later = new AbortController();
    const inWait = setup([refusal], {
      pause: (ms, signal) => {
        queueMicrotask(() => later.abort(new Error("enough")));
        return pause(ms * 1_000, signal);
      },
    });
    await expect(inWait.send({ ...put, options: { signal: later.signal } })).rejects.toThrow("enough");
    expect(inWait.sent).toHaveLength(1);
  });

  test("An attempt that took too long is retried", async () => {
    const hang: Reply = (init) =>
      new Promise((_, reject) => init?.signal?.addEventListener("abort", () => reject(init.signal?.reason)));
    const { send, sent } = setup([hang], { timeout: 5, retries: 1 });
    await expect(send(put)).rejects.toThrow(/does not answer: it took too long/);
    expect(sent).toHaveLength(2);
  });
});

describe("answers to the client", () => {
  test("A problem lists the fault of each field, and can be told from other errors", async () => {
    const errors = [{ path: "when", message: "is required" }];
    const { send } = setup([() => problem(409, { errors, requestId: "r-1" })]);
    const error = await send(put).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ status: 409, detail: "It is so.", errors, requestId: "r-1" });
    expect(String(error)).toBe("CarillonProblem: It is so. when is required.");
    expect([isConflict(error), isNotFound(error), isConflict(new Error("no"))]).toEqual([true, false, false]);
  });

  test("A gateway's error becomes a problem with its text", async () => {
    const { send } = setup([() => new Response('{"message":"Forbidden"}', { status: 403 })]);
    await expect(send(put)).rejects.toMatchObject({
      status: 403,
      type: "about:blank",
      detail: "403: Forbidden",
    });
    const headers = { "apigw-requestid": "g-1" };
    const busy = setup([() => new Response('{"message":"Forbidden"}', { status: 403, headers })]);
    await expect(busy.send(put)).rejects.toMatchObject({ requestId: "g-1" });
    const page = setup([() => new Response("<html>", { status: 404, statusText: "Not Found" })]);
    await expect(page.send(put)).rejects.toMatchObject({ status: 404, detail: "404: Not Found" });
  });

  test("An answer that is not JSON, or is from a redirect, is not accepted as Carillon's", async () => {
    const page = setup([() => new Response("<html>", { status: 200 })]);
    await expect(page.send(put)).rejects.toThrow(/is not Carillon/);
    const moved = setup([() => Object.defineProperty(done(), "redirected", { value: true })]);
    await expect(moved.send(put)).rejects.toThrow(/redirected to/);
  });

  test("The errors of another copy of the client are those of this one", async () => {
    const { send } = setup([() => problem(404)]);
    const seen: unknown = await send(put).catch((error: unknown) => error);
    const ofAnother = Object.assign(new Error("It is so."), { ...(seen as object) });
    expect(ofAnother).toBeInstanceOf(CarillonProblem);
    expect(isNotFound(ofAnother)).toBe(true);
    expect(isConflict(ofAnother)).toBe(false);
    expect(new Error("It is so.")).not.toBeInstanceOf(CarillonProblem);
    const input = Object.assign(new TypeError("No."), { name: "CarillonInputError" });
    expect(input).toBeInstanceOf(CarillonInputError);
    expect(new TypeError("No.")).not.toBeInstanceOf(CarillonInputError);
  });

  test("A missing answer has its cause, and the key for repeating the call", async () => {
    const { send } = setup([refusal], { retries: 0 });
    await expect(send(put)).rejects.toMatchObject({
      message:
        "https://api.example.com/stage/v1/schedules/order:1%20%C3%A4 does not answer: connect ECONNREFUSED 127.0.0.1:1",
      idempotencyKey: "key-1",
    });
  });
});

test("Retry-After is read as seconds or as a date", () => {
  const now = Date.parse("2026-12-01T09:00:00Z");
  expect(retryAfterMs(null, now)).toBeUndefined();
  expect(retryAfterMs("3", now)).toBe(3_000);
  expect(retryAfterMs("Tue, 01 Dec 2026 09:00:05 GMT", now)).toBe(5_000);
  expect(retryAfterMs("Tue, 01 Dec 2026 08:00:05 GMT", now)).toBe(0);
  expect(retryAfterMs("soon", now)).toBeUndefined();
});
