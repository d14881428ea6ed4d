import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { EventBridgeClient, PutRuleCommand, PutTargetsCommand } from "@aws-sdk/client-eventbridge";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { readQueue, type StackProcess, startProcess } from "../local/local-stack.ts";

let dataDir: string;
let stack: StackProcess | undefined;

beforeEach(() => {
  dataDir = mkdtempSync(path.join(tmpdir(), "carillon-local-bus-"));
});

afterEach(async () => {
  await stack?.end("SIGTERM");
  stack = undefined;
  rmSync(dataDir, { recursive: true, force: true });
});

const told = z.object({
  source: z.literal("carillon"),
  "detail-type": z.string(),
  detail: z.looseObject({ subject: z.string(), data: z.looseObject({ job: z.looseObject({}) }) }),
});

test("with `npm start`, a rule delivers the events of dead jobs to a queue", async () => {
  stack = await startProcess(dataDir, { LIFECYCLE_EVENTS: "failed,dead" });
  const credentials = { accessKeyId: "someone", secretAccessKey: "secret" };
  const bridge = new EventBridgeClient({ endpoint: stack.urls.events, region: "us-east-1", credentials });
  await bridge.send(
    new PutRuleCommand({
      Name: "dead-jobs",
      EventPattern: JSON.stringify({ source: ["carillon"], "detail-type": ["carillon.job.dead"] }),
    }),
  );
  const Arn = "arn:aws:sqs:us-east-1:000000000000:dead-jobs";
  await bridge.send(new PutTargetsCommand({ Rule: "dead-jobs", Targets: [{ Id: "queue", Arn }] }));
  bridge.destroy();

  const schedule = {
    when: "in 1s",
    target: { lambda: "carillon-target-nobody" },
    retry: { attempts: 1 },
  };
  const put = await stack.request("PUT", "/v1/schedules/nobody", schedule);
  expect([put.status, put.ok ? "" : await put.text()]).toEqual([201, ""]);
  const [body = ""] = await readQueue(stack, "dead-jobs", (bodies) => bodies.length > 0);
  const event = told.parse(JSON.parse(body));
  expect(event).toMatchObject({ "detail-type": "carillon.job.dead", detail: { subject: "nobody" } });
  expect(event.detail.data.job).toMatchObject({ key: "nobody", attempt: 1 });

  const everything = await (await fetch(`${stack.urls.events}/events`)).text();
  expect(everything).toContain("carillon.job.failed");
}, 60_000);
