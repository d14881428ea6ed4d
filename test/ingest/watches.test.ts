import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { EventBridgeClient, PutEventsCommand } from "@aws-sdk/client-eventbridge";
import { GetQueueAttributesCommand, SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { readQueue, type StackProcess, startProcess } from "../local/local-stack.ts";
import { until } from "../support/until.ts";

const page = readFileSync(new URL("../../docs/watches.md", import.meta.url), "utf8");
const blocks = [...page.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = ""]) => block);
const hasCurl = spawnSync("curl", ["--version"]).status === 0;
const credentials = { accessKeyId: "someone", secretAccessKey: "secret" };

describe.runIf(hasCurl)("docs/watches.md (needs curl)", () => {
  let folder: string;
  let stack: StackProcess;
  let bridge: EventBridgeClient;
  let sqs: SQSClient;

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), "carillon-watches-"));
    stack = await startProcess(path.join(folder, ".carillon"));
    bridge = new EventBridgeClient({ endpoint: stack.urls.events, region: "us-east-1", credentials });
    sqs = new SQSClient({ endpoint: stack.urls.sqs, region: "us-east-1", credentials });
  });

  afterAll(async () => {
    bridge.destroy();
    sqs.destroy();
    await stack.end("SIGTERM");
    rmSync(folder, { recursive: true, force: true });
  });

  const run = (block = "") => {
    const { api, events, sqs: queues } = stack.urls;
    const script = block
      .replaceAll("http://127.0.0.1:8787", api)
      .replaceAll("http://127.0.0.1:8788", queues)
      .replaceAll("http://127.0.0.1:8789", events)
      .replaceAll("curl ", "curl --silent --show-error --fail ");
    return execFileSync("bash", ["-euc", `export CARILLON_TOKEN=test-token\n${script}`], {
      encoding: "utf8",
    });
  };
  const statusOf = async (key: string) => (await stack.request("GET", `/v1/schedules/${key}`)).status;
  const comes = (key: string, status: number) =>
    until(`${key} answers ${status}`, async () => (await statusOf(key)) === status);
  /**
   * A message is deleted once its commands are applied, passed over or dead; while a function has
   * it, it counts as not visible.
   */
  const isEmpty = (queue: string) =>
    until(`no message is left in ${queue}`, async () => {
      const { Attributes = {} } = await sqs.send(
        new GetQueueAttributesCommand({
          QueueUrl: `${stack.urls.sqs}/000000000000/${queue}`,
          AttributeNames: ["All"],
        }),
      );
      const { ApproximateNumberOfMessages: visible, ApproximateNumberOfMessagesNotVisible: taken } =
        Attributes;
      return visible === "0" && taken === "0";
    });
  const order = (DetailType: string, orderId: number, Time: Date) =>
    bridge.send(
      new PutEventsCommand({
        Entries: [{ Source: "shop", DetailType, Detail: JSON.stringify({ orderId }), Time }],
      }),
    );
  const send = (body: unknown) =>
    sqs.send(
      new SendMessageCommand({
        QueueUrl: `${stack.urls.sqs}/000000000000/carillon-ingest`,
        MessageBody: JSON.stringify(body),
      }),
    );

  test("a message makes a schedule, and a placed order is watched until it is shipped", async () => {
    const [sending, listing, rules, placed, shipped, ...others] = blocks;
    expect(others).toEqual([]);
    run(sending);
    await comes("from-a-queue", 200);
    expect(run(listing)).toBe('{"items":[]}');
    run(rules);
    run(placed);
    await comes("order:1234:unshipped", 200);
    const watched = z
      .looseObject({ nextAt: z.iso.datetime(), payload: z.unknown() })
      .parse(await (await stack.request("GET", "/v1/schedules/order:1234:unshipped")).json());
    expect(watched).toMatchObject({ payload: { orderId: 1234, alertAfter: "3h" } });
    const { placedAt } = z.looseObject({ placedAt: z.iso.datetime() }).parse(watched.payload);
    expect(Date.parse(watched.nextAt) - Date.parse(placedAt)).toBe(3 * 3_600_000);
    run(shipped);
    await comes("order:1234:unshipped", 404);
  }, 60_000);

  test("a watch is not made for an order whose shipping is applied before its placing", async () => {
    const [, , rules] = blocks;
    run(rules);
    const now = Date.now();
    await order("order.shipped", 77, new Date(now - 1_000));
    // Order 78 is placed and shipped in the same second: the events have no finer times.
    await order("order.shipped", 78, new Date(now - 5_000));
    // SQS promises no order: only an empty queue shows that both are applied.
    await isEmpty("carillon-ingest");
    for (const orderId of [77, 78, 79]) await order("order.created", orderId, new Date(now - 5_000));
    await isEmpty("carillon-ingest");
    expect(await statusOf("order:77:unshipped")).toBe(404);
    expect(await statusOf("order:78:unshipped")).toBe(404);
    expect(await statusOf("order:79:unshipped")).toBe(200);
    // A command that was refused would leave no watch either.
    const dead = await (await stack.request("GET", "/v1/commands/dead")).text();
    expect(dead).not.toContain("order:7");
  }, 60_000);

  test("a refused command is listed, and sent to the dead-letter queue", async () => {
    await send({ id: "odd", put: { key: "odd", when: "now and then", target: { queue: "demo" } } });
    const [letter = ""] = await readQueue(stack, "carillon-ingest-dead", (bodies) => bodies.length > 0);
    expect(JSON.parse(letter)).toMatchObject({ id: "odd", put: { key: "odd" } });
    const listed = await (await stack.request("GET", "/v1/commands/dead")).json();
    expect(listed).toMatchObject({ items: [{ commandId: "odd", key: "odd", error: { status: 400 } }] });
  }, 60_000);
});
