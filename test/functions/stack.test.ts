import { readFileSync } from "node:fs";
import { App, Stack } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { Schedule } from "../../infra/schedule/schedule.ts";
import type { StackWorld } from "./stack-world.ts";
import { withStackWorld } from "./with-stack-world.ts";

let world: StackWorld;
let key: string;
withStackWorld((opened) => {
  ({ world, key } = opened);
});

const weekly = (more: object = {}) => ({
  key,
  when: "0 9 * * MON",
  timezone: "Europe/Berlin",
  target: { queue: "carillon-target-reports" },
  ...more,
});
const read = async (at = key) => {
  const { status, json } = await world.api.send("GET", `/v1/schedules/${at}`);
  return status === 404 ? null : json;
};
const put = (body: object, at = key) => world.api.send("PUT", `/v1/schedules/${at}`, { body });
const mine = ["stack:Shop", "stack:Shop:Weekly"];

test("a created resource is a schedule whose key is its id, with the tags and the name of its stack", async () => {
  const payload = '{"orderId":1234,"late":true,"none":null}';
  const answer = await world.ask("Create", weekly({ payload, tags: ["reports"] }));
  expect(answer).toMatchObject({ Status: "SUCCESS", PhysicalResourceId: key });
  expect(await read()).toMatchObject({
    when: "0 9 * * MON",
    payload: { orderId: 1234, late: true, none: null },
    tags: ["reports", ...mine],
    createdBy: "stack:Shop",
  });
  const audit = await world.api.send("GET", "/v1/audit", { query: `subject=${key}` });
  expect(audit.json).toMatchObject({ items: [{ actor: "stack:Shop" }] });
});

test("numbers and booleans, which CloudFormation passes as texts, arrive as such", async () => {
  const properties = {
    maxFires: "7",
    holdAfter: "3",
    group: "reports",
    serial: "true",
    deleteOnEnd: "true",
    retry: { attempts: "2", base: "30s" },
    catchUp: { policy: "all", limit: "10" },
  };
  expect(await world.ask("Create", weekly(properties))).toMatchObject({ Status: "SUCCESS" });
  expect(await read()).toMatchObject({
    maxFires: 7,
    holdAfter: 3,
    serial: true,
    deleteOnEnd: true,
    retry: { attempts: 2, base: "30s" },
    catchUp: { policy: "all", limit: 10 },
  });
});

/** The properties as CloudFormation passes them: numbers and booleans are texts. */
function asTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asTexts);
  if (typeof value !== "object" || value === null) return String(value);
  return Object.fromEntries(Object.entries(value).map(([name, inside]) => [name, asTexts(inside)]));
}

test("the resource that the construct Schedule writes becomes the schedule that the app defines", async () => {
  const stack = new Stack(new App(), "Shop");
  const body = {
    when: ["0 9 * * MON", "0 9 * * FRI"],
    timezone: "Europe/Berlin",
    target: { queue: "carillon-target-reports", attributes: { n: "1" } },
    payload: { orderId: 1234, late: true, text: 'a "quoted" word', list: [null, 1.5] },
    retry: { attempts: 2, base: "30s" },
    catchUp: { policy: "all" as const, limit: 10 },
    startsAt: new Date("2026-12-01T00:00:00Z"),
    maxFires: 7,
    deleteOnEnd: true,
  };
  new Schedule(stack, "Weekly", { carillon: { scheduleServiceToken: "arn" }, key, ...body });
  const made = Template.fromStack(stack).findResources("Custom::CarillonSchedule");
  const [{ Properties } = { Properties: {} }] = Object.values(made);
  const sent = z.record(z.string(), z.unknown()).parse(asTexts(Properties));
  expect(await world.ask("Create", sent)).toMatchObject({ Status: "SUCCESS" });
  expect(await read()).toMatchObject({ ...body, startsAt: body.startsAt.toISOString() });
});

test("the template in docs/schedules-as-code.md makes its schedule", async () => {
  const page = readFileSync(new URL("../../docs/schedules-as-code.md", import.meta.url), "utf8");
  const [, text = ""] = /```yaml\n(.*?)```/s.exec(page) ?? [];
  const arn = "arn:aws:sqs:us-east-1:000000000000:carillon-target-reports";
  const intrinsics = ["!ImportValue", "!GetAtt"].map((tag) => ({ tag, resolve: () => arn }));
  const template = z.object({
    Resources: z.object({ Weekly: z.object({ Properties: z.record(z.string(), z.unknown()) }) }),
  });
  const { Properties } = template.parse(parse(text, { customTags: intrinsics })).Resources.Weekly;
  const sent = z.record(z.string(), z.unknown()).parse(asTexts(Properties));
  expect(await world.ask("Create", sent)).toMatchObject({
    Status: "SUCCESS",
    PhysicalResourceId: "report:weekly",
  });
  expect(await read("report:weekly")).toMatchObject({
    target: { queue: arn },
    payload: { report: "weekly", limit: 10 },
    retry: { attempts: 3 },
  });
});

test("an update replaces the whole schedule, also what was edited by hand", async () => {
  const { PhysicalResourceId: id } = await world.ask("Create", weekly());
  await world.api.send("PATCH", `/v1/schedules/${key}`, { body: { timeout: "45s", tags: ["mine"] } });
  const answer = await world.ask("Update", weekly({ when: "0 8 * * MON" }), { id, before: weekly() });
  expect(answer).toMatchObject({ Status: "SUCCESS", PhysicalResourceId: key });
  expect(await read()).toMatchObject({ when: "0 8 * * MON", timeout: "30s", tags: mine });
});

test("an update makes a schedule again that was deleted by hand", async () => {
  const { PhysicalResourceId: id } = await world.ask("Create", weekly());
  await world.api.send("DELETE", `/v1/schedules/${key}`);
  expect(await world.ask("Update", weekly({ description: "again" }), { id })).toMatchObject({
    Status: "SUCCESS",
  });
  expect(await read()).toMatchObject({ description: "again" });
});

test("a new key is a new id: the new schedule is made first, and the old one stays until its deletion", async () => {
  const before = weekly();
  const { PhysicalResourceId: id } = await world.ask("Create", before);
  const old = key;
  key = `${old}:renamed`;
  expect(await world.ask("Update", weekly(), { id, before })).toMatchObject({ PhysicalResourceId: key });
  expect(await read(old)).not.toBeNull();
  expect(await world.ask("Delete", before, { id })).toMatchObject({
    Status: "SUCCESS",
    PhysicalResourceId: old,
  });
  expect(await read(old)).toBeNull();
  expect(await read()).toMatchObject({ tags: mine });
});

test("a deletion deletes the schedule, and succeeds where it is already gone", async () => {
  const { PhysicalResourceId: id } = await world.ask("Create", weekly());
  for (let times = 0; times < 2; times += 1) {
    expect(await world.ask("Delete", weekly(), { id })).toMatchObject({ Status: "SUCCESS" });
    expect(await read()).toBeNull();
  }
});

test("a creation that is refused for a wrong body answers the API's sentence with path and position, and its rollback succeeds", async () => {
  const wrong = weekly({ when: "0 9 * * MOX", target: { queue: "no queue" }, colour: "red" });
  const answer = await world.ask("Create", wrong);
  expect(answer.Status).toBe("FAILED");
  for (const part of ["when ", "at position 8", "target.queue takes", "colour "])
    expect(answer.Reason).toContain(part);
  expect(await world.ask("Delete", wrong, { id: answer.PhysicalResourceId })).toMatchObject({
    Status: "SUCCESS",
  });
  expect(await read()).toBeNull();
});

test.each([
  [{ payload: { n: "1" } }, /payload takes JSON as a text, .*turns the numbers/],
  [{ payload: '{"secret":"hunter2",}' }, /^(?!.*hunter2).*payload takes JSON as a text, .*is not JSON/],
  [{ payload: '{"id":12345678901234567890}' }, /payload has a number that cannot be kept exactly/],
  [{ when: "in 3h" }, /when counts from now/],
  [{ tags: ["ok", "apply:billing"] }, /tags\[1\] may not begin with `apply:`/],
  [{ key: 7 }, /key is required, as a text/],
  [{ takeOver: "perhaps" }, /takeOver takes true or false/],
])("properties such as %j are refused before the API is asked", async (more, reason) => {
  const answer = await world.ask("Create", weekly(more));
  expect(answer).toMatchObject({ Status: "FAILED", Reason: expect.stringMatching(reason) });
  expect(world.requests).toEqual([]);
});

test("a key that cannot be one is refused, and the deletion of what was never made succeeds without a request", async () => {
  const answer = await world.ask("Create", weekly({ key: "a/b" }));
  expect(answer).toMatchObject({ Status: "FAILED", PhysicalResourceId: "not/made" });
  world.requests.length = 0;
  expect(await world.ask("Delete", {}, { id: answer.PhysicalResourceId })).toMatchObject({
    Status: "SUCCESS",
  });
  expect(world.requests).toEqual([]);
});

test("a repeat of a creation answers the same and changes nothing", async () => {
  const asking = { request: `repeated-${key}` };
  const first = await world.ask("Create", weekly(), asking);
  expect(await world.ask("Create", weekly(), asking)).toEqual(first);
  expect(await read()).toMatchObject({ version: 1 });
});

test("a hold that the template sets is the stack's, and ends when the template no longer has it", async () => {
  const paused = weekly({ paused: "true" });
  const { PhysicalResourceId: id } = await world.ask("Create", paused);
  expect(await read()).toMatchObject({ state: "paused", holds: [{ owner: "stack:Shop" }] });
  await world.ask("Update", weekly(), { id, before: paused });
  expect(await read()).toMatchObject({ state: "active", holds: [] });
});

test("a schedule that was edited between the read and the write is read again", async () => {
  const { PhysicalResourceId: id } = await world.ask("Create", weekly());
  world.requests.length = 0;
  let edits = 0;
  world.instead = async (event) => {
    const { method } = world.requests.at(-1) ?? {};
    if (method === "PUT" && edits === 0) {
      edits += 1;
      await world.api.send("PATCH", `/v1/schedules/${key}`, { body: { description: "meanwhile" } });
    }
    return world.toApi(event);
  };
  expect(await world.ask("Update", weekly({ timeout: "1m" }), { id })).toMatchObject({ Status: "SUCCESS" });
  expect(world.requests.map(({ method }) => method)).toEqual(["GET", "PUT", "GET", "PUT"]);
  expect(await read()).toMatchObject({ timeout: "1m", description: null, version: 3 });
});

test("a put by hand of a schedule that a stack keeps is allowed, and drops the mark only if it drops the tags", async () => {
  await world.ask("Create", weekly());
  const { status } = await put({ ...weekly(), key: undefined, tags: mine, timeout: "2m" });
  expect(status).toBe(200);
  expect(await world.ask("Delete", weekly(), { id: key })).toMatchObject({ Status: "SUCCESS" });
  expect(await read()).toBeNull();
});

test.each([
  [{ source: "billing" }, "is not among the sources of events"],
  [{ source: "AWS.ec2" }, "EventBridge reserves such sources"],
  [{ detailType: "carillon.job.dead" }, "such types are those of Carillon's own events"],
])("a resource that asks for the event %j fails, as does an update to it", async (event, reason) => {
  const forged = weekly({ target: { event } });
  const failed = { Status: "FAILED", Reason: expect.stringContaining(reason) };
  expect(await world.ask("Create", forged)).toMatchObject(failed);
  expect(await read()).toBeNull();
  const { PhysicalResourceId: id } = await world.ask("Create", weekly());
  expect(await world.ask("Update", forged, { id, before: weekly() })).toMatchObject(failed);
  expect(await read()).toMatchObject({ target: { queue: "carillon-target-reports" } });
});
