import type { RequestListener } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { type LoopbackServer, listenOnLoopback } from "../../lib/tools/local/http-server.ts";
import { diceOf, seeded } from "../race/seeded.ts";
import { abuse } from "./abuse.ts";
import { Answers } from "./answers.ts";
import type { Attack } from "./attack.ts";
import { Caller } from "./caller.ts";
import { onLoopback } from "./loopback.ts";
import { parsedAnswers } from "./raw.ts";
import { growthFaults, growthMax, timeFaults } from "./report.ts";
import type { Memory } from "./stack-process.ts";
import { ticksIn } from "./ticks.ts";
import { shortest } from "./volumes.ts";

let server: LoopbackServer | undefined;

afterEach(async () => {
  await server?.close(0);
  server = undefined;
});

async function answersFrom(answer: RequestListener): Promise<Answers> {
  server = await listenOnLoopback(0, answer);
  const answers = new Answers();
  const caller = new Caller(server.url, answers);
  await caller.send({ method: "GET", path: "/v1/schedules" });
  caller.close();
  return answers;
}

const problem = (status: number, type: string) => JSON.stringify({ type, title: "t", status, detail: "d" });

describe("the rules for answers", () => {
  test.each<[string, RequestListener, RegExp]>([
    [
      "a 500",
      (_, response) => response.writeHead(500).end(problem(500, "urn:carillon:problem:internal")),
      /500/,
    ],
    ["a 503 without Retry-After", (_, response) => response.writeHead(503).end(), /without Retry-After/],
    ["a 429 without Retry-After", (_, response) => response.writeHead(429).end("x"), /without Retry-After/],
    ["a refusal in HTML", (_, response) => response.writeHead(404).end("<html>"), /not as a problem/],
    [
      "a problem without a type",
      (_, response) =>
        response.writeHead(400, { "content-type": "application/problem+json" }).end('{"status":400}'),
      /not as a problem/,
    ],
    [
      "a failed operation of a batch",
      (_, response) => response.end('{"results":[{"error":{"type":"urn:carillon:problem:internal"}}]}'),
      /an operation failed/,
    ],
    ["a connection that is closed", (request) => request.socket.destroy(), /no answer/],
  ])("%s is a fault", async (_, answer, fault) => {
    const { faults } = await answersFrom(answer);
    expect(faults).toEqual([expect.stringMatching(fault)]);
  });

  test.each<[string, RequestListener]>([
    ["a success", (_, response) => response.end("{}")],
    ["a 503 with Retry-After", (_, response) => response.writeHead(503, { "retry-after": "2" }).end()],
    [
      "a problem",
      (_, response) =>
        response
          .writeHead(404, { "content-type": "application/problem+json" })
          .end(problem(404, "urn:carillon:problem:missing")),
    ],
    ["a refusal of the gateway", (_, response) => response.writeHead(413).end('{"message":"Too Large"}')],
  ])("%s is no fault", async (_, answer) => {
    const { faults, count } = await answersFrom(answer);
    expect([faults, count]).toEqual([[], 1]);
  });

  test("a caller whose time is over sends no more", async () => {
    let asked = 0;
    server = await listenOnLoopback(0, (_, response) => {
      asked++;
      response.end();
    });
    const answers = new Answers();
    const caller = new Caller(server.url, answers, { over: AbortSignal.abort() });
    expect(await caller.send({ method: "GET", path: "/" })).toBeUndefined();
    expect([asked, answers.faults]).toEqual([0, []]);
  });
});

describe("the rules for the stack", () => {
  const small: Memory = { rss: 100, used: 50 };

  test("memory that grows beyond its bound is a fault, and within it is none", () => {
    expect(growthFaults(small, { rss: 100 + growthMax.rss, used: 50 + growthMax.used })).toEqual([]);
    const faults = growthFaults(small, { rss: 101 + growthMax.rss, used: 51 + growthMax.used });
    expect(faults).toEqual([expect.stringContaining("resident"), expect.stringContaining("in use")]);
  });

  test("a minute without a tick is a fault, and so is a fire of the neighbour that misses its minute", () => {
    const seen = { requests: 1, p50Ms: 1, p99Ms: 1, fires: 1, latestMs: 59_999, faults: [] };
    const onTime = ticksIn([60_500, 121_000], { from: 30_000, to: 130_000 });
    expect(onTime).toEqual({ minutes: 2, ticked: 2, latestMs: 1_000 });
    expect(timeFaults({ ticks: onTime, neighbour: seen })).toEqual([]);
    const missed = ticksIn([60_500], { from: 30_000, to: 130_000 });
    const late = { ...seen, latestMs: 60_000 };
    expect(timeFaults({ ticks: missed, neighbour: late })).toEqual([
      "1 of 2 minutes had no tick",
      expect.stringContaining("60000 ms late"),
    ]);
  });

  test("a stack that leaks and fails for a moment is reported with the attack that made it", async () => {
    const bytes = growthMax.used;
    const reads: Memory[] = [];
    let failures = 0;
    server = await listenOnLoopback(0, (request, response) => {
      const { url = "", method } = request;
      if (url === "/v1/fail-once" && failures++ === 0) response.writeHead(500).end();
      else if (url === "/v1/tokens" && method === "POST") response.end('{"token":"t"}');
      else if (url.startsWith("/v1/jobs")) response.end('{"items":[],"cursor":null}');
      else if (url === "/v1/stats") response.end('{"plan":{"lastTickAt":null}}');
      else response.end(sqsAnswer);
    });
    const attack: Attack = {
      name: "twice",
      does: "asks twice",
      holds: "both are answered",
      async run({ caller }) {
        await caller.send({ method: "GET", path: "/v1/fail-once" });
        await caller.send({ method: "GET", path: "/v1/fail-once" });
      },
    };
    const [report] = await abuse({
      stack: {
        api: server.url,
        sqs: server.url,
        adminToken: "a",
        memory: async () => {
          const read = { rss: 1, used: reads.length < 5 ? 1 : 2 + bytes };
          reads.push(read);
          return read;
        },
        badTicks: () => [],
        failures: () => [],
        stop: async () => {},
      },
      attacks: [attack],
      volume: shortest,
      dice: diceOf(seeded(1)),
      clock: systemClock,
      probesAtLeast: 1,
      attackMinutesMax: 60,
      timed: false,
      told: () => {},
    });
    expect(report?.faults).toEqual([
      expect.stringContaining("GET /v1/fail-once: answered 500"),
      expect.stringContaining("memory in use grew"),
    ]);
  });
});

/** The emulator's answer to the list of its queues. */
const sqsAnswer = '{"QueueUrls":[]}';

test.each(["http://192.0.2.1:8787", "https://127.0.0.1:8787", "http://127.0.0.1.example.com", "nonsense"])(
  "an attack refuses the address %s",
  (address) => {
    expect(() => onLoopback(address)).toThrow("is not attacked");
    expect(() => new Caller(address, new Answers())).toThrow("is not attacked");
  },
);

test("answers on one connection are read one after another", () => {
  const stream =
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
  expect(parsedAnswers(stream).map(({ status, text }) => [status, text])).toEqual([
    [200, "{}"],
    [400, ""],
  ]);
});
