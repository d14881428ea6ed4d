import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import {
  DeleteRuleCommand,
  EventBridgeClient,
  ListRulesCommand,
  ListTargetsByRuleCommand,
  PutEventsCommand,
  PutRuleCommand,
  PutTargetsCommand,
  RemoveTargetsCommand,
  TestEventPatternCommand,
} from "@aws-sdk/client-eventbridge";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { silentLog } from "../../lib/log/log.ts";
import type { QueueMessage } from "../../lib/tools/local/events/bus.ts";
import { type EventsEndpoint, startEvents } from "../../lib/tools/local/events/start-events.ts";
import { localQueueArn } from "../../lib/tools/local/local-account.ts";

let dataDir: string;
let endpoint: EventsEndpoint;
let bridge: EventBridgeClient;
let sent: QueueMessage[];
let sending: () => Promise<void>;

beforeEach(async () => {
  dataDir = mkdtempSync(path.join(tmpdir(), "carillon-events-"));
  sent = [];
  sending = async () => {};
  await start();
});

afterEach(async () => {
  await stop();
  rmSync(dataDir, { recursive: true, force: true });
});

async function start(): Promise<void> {
  const send = async (message: QueueMessage) => {
    await sending();
    sent.push(message);
  };
  endpoint = await startEvents({ dataDir, port: 0, send, log: silentLog });
  const credentials = { accessKeyId: "someone", secretAccessKey: "secret" };
  bridge = new EventBridgeClient({
    endpoint: endpoint.url,
    region: "us-east-1",
    credentials,
    maxAttempts: 1,
  });
}

async function stop(): Promise<void> {
  bridge.destroy();
  await endpoint.stop();
}

function due(detail: unknown, more: { EventBusName?: string; Source?: string } = {}) {
  return { Source: "carillon", DetailType: "carillon.job.due", Detail: JSON.stringify(detail), ...more };
}

const arrivals = z.object({
  items: z.array(
    z.looseObject({ detail: z.unknown(), id: z.string(), rules: z.array(z.string()), bus: z.string() }),
  ),
});

async function arrived(limit = 100): Promise<z.infer<typeof arrivals>["items"]> {
  const response = await fetch(`${endpoint.url}/events?limit=${limit}`);
  return arrivals.parse(await response.json()).items;
}

async function ruleToQueue(name: string, pattern: unknown): Promise<void> {
  await bridge.send(new PutRuleCommand({ Name: name, EventPattern: JSON.stringify(pattern) }));
  const Targets = [{ Id: "queue", Arn: localQueueArn(name) }];
  await bridge.send(new PutTargetsCommand({ Rule: name, Targets }));
}

describe("the event bus", () => {
  test("the event bus stores events and shows them, newest first", async () => {
    const Time = new Date("2026-11-21T08:00:00.500Z");
    const put = new PutEventsCommand({
      Entries: [due({ n: 1 }), { ...due({ n: 2 }), Time, Resources: ["arn:x"] }],
    });
    const { FailedEntryCount, Entries = [] } = await bridge.send(put);
    expect(FailedEntryCount).toBe(0);
    expect(await arrived(1)).toMatchObject([
      {
        id: Entries[1]?.EventId,
        version: "0",
        source: "carillon",
        "detail-type": "carillon.job.due",
        account: "000000000000",
        region: "us-east-1",
        time: "2026-11-21T08:00:00Z",
        resources: ["arn:x"],
        detail: { n: 2 },
        bus: "default",
        rules: [],
      },
    ]);
    expect(await arrived()).toHaveLength(2);
  });

  test("the event bus sends a matching event to the rule's queue before it answers the sender", async () => {
    await ruleToQueue("orders", { source: ["carillon"], detail: { kind: ["order"] } });
    await bridge.send(new PutEventsCommand({ Entries: [due({ kind: "order" }), due({ kind: "invoice" })] }));
    expect(sent).toHaveLength(1);
    expect(sent[0]).toMatchObject({ queueArn: localQueueArn("orders"), messageGroupId: null });
    expect(JSON.parse(sent[0]?.body ?? "")).toMatchObject({ detail: { kind: "order" }, source: "carillon" });
    expect((await arrived()).map(({ rules }) => rules)).toEqual([[], ["orders"]]);
  });

  test("the event bus separates buses by name and by ARN, and ignores disabled rules", async () => {
    await ruleToQueue("all", { source: ["carillon"] });
    const EventPattern = '{"source":["carillon"]}';
    await bridge.send(new PutRuleCommand({ Name: "off", EventPattern, State: "DISABLED" }));
    await bridge.send(new PutRuleCommand({ Name: "own", EventPattern, EventBusName: "orders" }));
    const EventBusName = "arn:aws:events:us-east-1:000000000000:event-bus/orders";
    await bridge.send(new PutEventsCommand({ Entries: [due({}, { EventBusName }), due({})] }));
    expect(await arrived()).toMatchObject([
      { bus: "default", rules: ["all"] },
      { bus: "orders", rules: ["own"] },
    ]);
  });

  test("the event bus sends a part of the event, or a fixed text, as the target configures", async () => {
    await bridge.send(new PutRuleCommand({ Name: "part", EventPattern: '{"source":["carillon"]}' }));
    const fifo = { MessageGroupId: "g" };
    const Targets = [
      { Id: "a", Arn: localQueueArn("a"), InputPath: "$.detail.order" },
      { Id: "b", Arn: localQueueArn("b.fifo"), Input: '"fixed"', SqsParameters: fifo },
    ];
    await bridge.send(new PutTargetsCommand({ Rule: "part", Targets }));
    await bridge.send(new PutEventsCommand({ Entries: [due({ order: { id: 7 } })] }));
    expect(sent).toEqual([
      { queueArn: localQueueArn("a"), body: '{"id":7}', messageGroupId: null },
      { queueArn: localQueueArn("b.fifo"), body: '"fixed"', messageGroupId: "g" },
    ]);
  });

  test("the event bus answers the sender of an event even when a target fails", async () => {
    await ruleToQueue("orders", { source: ["carillon"] });
    sending = () => Promise.reject(new Error("no such queue"));
    const answer = await bridge.send(new PutEventsCommand({ Entries: [due({})] }));
    expect(answer.FailedEntryCount).toBe(0);
  });

  test("the event bus refuses faulty entries one by one, each with its own reason", async () => {
    const Entries = [
      { ...due({}), Detail: "[1]" },
      { ...due({}), Detail: "{" },
      due({}, { Source: "aws.ec2" }),
      { DetailType: "x", Detail: "{}" },
      due({ good: true }),
    ];
    const answer = await bridge.send(new PutEventsCommand({ Entries }));
    expect(answer.FailedEntryCount).toBe(4);
    expect(answer.Entries?.map(({ ErrorCode, EventId }) => ErrorCode ?? typeof EventId)).toEqual([
      "MalformedDetail",
      "MalformedDetail",
      "NotAuthorizedForSourceException",
      "InvalidArgument",
      "string",
    ]);
    expect(await arrived()).toMatchObject([{ detail: { good: true } }]);
  });

  test("the event bus refuses more than ten entries, and more than 256 KiB of them", async () => {
    const many = new PutEventsCommand({ Entries: Array.from({ length: 11 }, () => due({})) });
    await expect(bridge.send(many)).rejects.toMatchObject({ name: "ValidationException" });
    const large = new PutEventsCommand({ Entries: [due({ text: "x".repeat(256 * 1024) })] });
    await expect(bridge.send(large)).rejects.toMatchObject({ name: "ValidationException" });
  });

  test("the event bus keeps rules, targets and events over a restart", async () => {
    await ruleToQueue("orders", { source: ["carillon"] });
    await bridge.send(new PutEventsCommand({ Entries: [due({ n: 1 })] }));
    await stop();
    await start();
    await bridge.send(new PutEventsCommand({ Entries: [due({ n: 2 })] }));
    expect(sent).toHaveLength(2);
    expect((await arrived()).map(({ detail }) => detail)).toEqual([{ n: 2 }, { n: 1 }]);
  });

  test("the event bus keeps at most the last thousand events", async () => {
    const batch = new PutEventsCommand({ Entries: Array.from({ length: 10 }, (_, n) => due({ n })) });
    for (let sendings = 0; sendings < 101; sendings++) await bridge.send(batch);
    expect(await arrived(5_000)).toHaveLength(1_000);
  });

  test("the event bus lists, changes and deletes rules, but not one that still has targets", async () => {
    await ruleToQueue("orders", { source: ["carillon"] });
    await bridge.send(
      new PutRuleCommand({ Name: "orders", EventPattern: '{"source":["other"]}', Description: "d" }),
    );
    const { Rules } = await bridge.send(new ListRulesCommand({ NamePrefix: "ord" }));
    expect(Rules).toMatchObject([{ Name: "orders", EventPattern: '{"source":["other"]}', Description: "d" }]);
    const deletion = new DeleteRuleCommand({ Name: "orders" });
    await expect(bridge.send(deletion)).rejects.toMatchObject({ name: "ValidationException" });
    const removal = await bridge.send(new RemoveTargetsCommand({ Rule: "orders", Ids: ["queue", "other"] }));
    expect(removal).toMatchObject({ FailedEntryCount: 1, FailedEntries: [{ TargetId: "other" }] });
    await bridge.send(deletion);
    const targets = bridge.send(new ListTargetsByRuleCommand({ Rule: "orders" }));
    await expect(targets).rejects.toMatchObject({ name: "ResourceNotFoundException" });
  });

  test("the event bus tests a pattern on an event without storing either", async () => {
    const Event = JSON.stringify({ source: "carillon", detail: {} });
    const EventPattern = '{"source":["carillon"]}';
    expect(await bridge.send(new TestEventPatternCommand({ EventPattern, Event }))).toMatchObject({
      Result: true,
    });
    const odd = new TestEventPatternCommand({ EventPattern: '{"source":[{"regex":"."}]}', Event });
    await expect(bridge.send(odd)).rejects.toMatchObject({ name: "InvalidEventPatternException" });
    expect(await arrived()).toEqual([]);
  });

  test("the event bus lists events as JSON that a browser does not run", async () => {
    const Entries = [due({ text: "<script>alert(1)</script>" }, { Source: '"><img src=x>' })];
    await bridge.send(new PutEventsCommand({ Entries }));
    const { headers } = await fetch(`${endpoint.url}/events`);
    expect(headers.get("content-type")).toBe("application/json");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    const elsewhere = await fetch(endpoint.url);
    expect(elsewhere.status).toBe(404);
    expect(await elsewhere.text()).toContain("/events");
  });

  test("the event bus accepts no request that a page in a browser could send without a preflight", async () => {
    const headers = { "x-amz-target": "AWSEvents.PutEvents", "content-type": "text/plain" };
    const response = await fetch(endpoint.url, {
      method: "POST",
      headers,
      body: JSON.stringify({ Entries: [due({})] }),
    });
    expect(response.status).toBe(415);
  });
});
