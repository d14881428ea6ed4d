import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { GetQueueUrlCommand, SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { type StackProcess, startProcess } from "../local/local-stack.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { until } from "../support/until.ts";

/** One secret text for each source, so that a leak shows where it comes from. */
const canary = (from: string) => `cAnArY-${from}-9f3e7a`;

const secret = `whsec_${Buffer.from(canary("secret-of-a-webhook")).toString("base64")}`;
const token = canary("token");

let database: TestDatabase;
let sql: Sql;
let dataDir: string;
let stack: StackProcess;
const stop = new AsyncDisposableStack();

beforeAll(async () => {
  database = await testDatabase("empty");
  stop.defer(() => database.drop());
  sql = connect({ DATABASE_URL: database.url });
  stop.defer(() => sql.end());
  dataDir = await mkdtemp(path.join(tmpdir(), "carillon-canary-"));
  stop.defer(() => rm(dataDir, { recursive: true, force: true }));
}, 30_000);

afterAll(() => stop.disposeAsync());

/** A receiver that echoes everything it gets, as careless ones do. */
async function echoing(): Promise<string> {
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request);
    response.writeHead(500);
    response.end(`${request.url} ${JSON.stringify(request.headers)} ${body}`.slice(0, 900));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  stop.defer(async () => void server.close());
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The receiver has no port.");
  return `127.0.0.1:${address.port}`;
}

const call = (method: string, where: string, body?: string, as = token) =>
  fetch(`${stack.urls.api}${where}`, {
    method,
    headers: { authorization: `Bearer ${as}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body }),
  });

const put = (key: string, body: unknown) => call("PUT", `/v1/schedules/${key}`, JSON.stringify(body));

/** Makes jobs that fail, with targets that echo their requests in their errors. */
async function failEverywhere(host: string): Promise<void> {
  const once = { when: "in 0s", retry: { attempts: 1 } };
  await put("webhook", {
    ...once,
    target: {
      webhook: {
        url: `http://${host}/${canary("path-of-a-url")}?key=${canary("query-of-a-url")}`,
        headers: { "x-api-key": canary("header") },
        secret,
      },
    },
    payload: { card: canary("payload-of-a-webhook") },
  });
  await put("unreachable", {
    ...once,
    target: { webhook: { url: `https://nobody.invalid/?key=${canary("query-of-an-unknown-host")}` } },
    payload: canary("payload-for-nobody"),
  });
  await put("lambda", {
    ...once,
    target: { lambda: "nobody" },
    payload: { a: canary("payload-of-a-function") },
  });
  await put("event", { ...once, target: { event: {} }, payload: { a: canary("payload-of-an-event") } });
  await put("queue", { ...once, target: { queue: "demo" }, payload: { a: canary("payload-of-a-message") } });
}

/** Requests that are refused, each for another reason. */
async function sendBadRequests(): Promise<number[]> {
  const answers = [
    await call("GET", "/v1/schedules", undefined, canary("unknown-token")),
    await call("GET", `/v1/schedules?token=${canary("query")}`),
    await call("GET", `/v1/schedules?cursor=${canary("cursor")}`),
    await call("PUT", "/v1/schedules/broken", `{"payload": ${canary("broken-json")}`),
    await put("invalid", { [canary("name-of-a-field")]: canary("value"), when: canary("when") }),
    await put("odd", { when: "every 1h", target: { webhook: { url: canary("no-url") } }, payload: "\u0000" }),
    await put("handler", {
      when: "in 0s",
      target: { handler: "order-unshipped" },
      payload: { orderId: [canary("payload-of-a-handler")] },
    }),
  ];
  return answers.map(({ status }) => status);
}

/** Makes the database refuse values, and quote them in its errors. */
async function breakTheDatabase(): Promise<number[]> {
  await sql.unsafe(`
    create function carillon.refuse() returns trigger language plpgsql as $$
    begin
      if new.payload::text like '%raised%' then raise exception 'It says "%" and %', new.payload, 'no'; end if;
      if new.payload::text like '%cast%' then perform (new.payload ->> 'a')::bigint; end if;
      return new;
    end $$;
    create trigger refuses before insert on carillon.schedule_versions for each row execute function carillon.refuse();
    create table carillon.taken (payload jsonb primary key);
    create function carillon.take() returns trigger language plpgsql security definer as $$
    begin insert into carillon.taken select new.payload where new.payload is not null; return new; end $$;
    create trigger takes before insert on carillon.schedule_versions for each row execute function carillon.take()`);
  const body = (a: string) => ({ when: "every 1h", target: { queue: "demo" }, payload: { a } });
  await put("taken-1", body(canary("taken")));
  const answers = [
    await put("raised", body(canary("raised"))),
    await put("cast", body(canary("cast"))),
    await put("taken-2", body(canary("taken"))),
  ];
  await sql`drop trigger takes on carillon.schedule_versions`;
  await sql`drop trigger refuses on carillon.schedule_versions`;
  return answers.map(({ status }) => status);
}

/** Sends messages by the queues that exist. */
async function sendBadMessages(): Promise<void> {
  const sqs = new SQSClient({
    endpoint: stack.urls.sqs,
    region: "us-east-1",
    credentials: { accessKeyId: "a", secretAccessKey: "a" },
  });
  stop.defer(async () => sqs.destroy());
  for (const name of ["carillon-fast", "carillon-slow", "carillon-ingest"]) {
    const found = await sqs.send(new GetQueueUrlCommand({ QueueName: name })).catch(() => undefined);
    if (found?.QueueUrl === undefined) continue;
    for (const MessageBody of [
      canary(`message-to-${name}`),
      JSON.stringify({
        id: "1",
        put: { key: "ingested", when: canary("ingested-when"), payload: canary("ingested") },
      }),
    ])
      await sqs.send(new SendMessageCommand({ QueueUrl: found.QueueUrl, MessageBody }));
  }
}

/** The text in the encodings that a log may contain. */
function spellings(text: string): string[] {
  const bytes = Buffer.from(text);
  // Inside other bytes, base64 begins at one of three offsets. Each search text is the part that
  // does not depend on neighbouring bytes.
  const shifted = [0, 1, 2].map((shift) => {
    const whole = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString("base64")
      .replace(/=+$/, "");
    return whole.slice(shift === 0 ? 0 : 4, -2);
  });
  return [text, ...shifted, bytes.toString("hex"), encodeURIComponent(text), bytes.toString("base64url")];
}

test("no token, secret, header or payload gets into a line of the log, with every kind of failure", {
  timeout: 90_000,
}, async () => {
  const host = await echoing();
  const env = { CARILLON_TOKEN: token, DATABASE_URL: database.url, CARILLON_WEBHOOK_ALLOW: host };
  stack = await startProcess(dataDir, env);
  stop.defer(async () => void (await stack.end("SIGTERM")));
  await failEverywhere(host);
  expect(await sendBadRequests()).toEqual([401, 400, 400, 400, 400, 400, 422]);
  expect(await breakTheDatabase()).toEqual([500, 500, 500]);
  await sendBadMessages();
  const logged = [/job .* is dead .*key=webhook/, /job .* is dead .*key=unreachable/, /is dead .*key=lambda/];
  const more = [
    /→ 401/,
    /PUT \/v1\/schedules\/taken-2 failed: .*23505/,
    /names no parcel was deleted from the queue/,
  ];
  await until("every failure has been logged", async () =>
    [...logged, ...more].every((line) => line.test(stack.printed())) ? true : undefined,
  );
  await stack.end("SIGTERM");
  const leaked = stack
    .logged()
    .split("\n")
    .filter((line) => /canary/i.test(line) || allCanaries().some((each) => line.includes(each)));
  expect(leaked).toEqual([]);
});

/** Every spelling of the beginning that all of these texts share, and of the secret. */
function allCanaries(): string[] {
  return [...spellings("cAnArY-"), ...spellings(secret)];
}
