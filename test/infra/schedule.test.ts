import { App, CfnParameter, Fn, Lazy, RemovalPolicy, Stack } from "aws-cdk-lib";
import { Annotations, Match, Template } from "aws-cdk-lib/assertions";
import { Secret } from "aws-cdk-lib/aws-secretsmanager";
import { Queue } from "aws-cdk-lib/aws-sqs";
import { beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { Carillon } from "../../infra/carillon.ts";
import { Schedule } from "../../infra/schedule/schedule.ts";
import type { ScheduleProps } from "../../infra/schedule/schedule-props.ts";
import { scheduleShape } from "../../lib/schedule/shape/schedule-shape.ts";
import { booleanFields, numberFields } from "../../lib/stack/schedule-properties.ts";
import { synthesised } from "./synthesised.ts";

let app: App;
let stack: Stack;
beforeEach(() => {
  app = new App({ context: { "aws:cdk:bundling-stacks": [] } });
  stack = new Stack(app, "Shop");
});

/** A Carillon of another app. */
const carillon = { scheduleServiceToken: "arn:aws:lambda:eu-central-1:123456789012:function:carillon-stack" };
const weekly: ScheduleProps = {
  carillon,
  key: "report:weekly",
  when: "0 9 * * MON",
  timezone: "Europe/Berlin",
  target: { queue: "carillon-target-reports" },
};
function thrownBy(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return expect.unreachable();
}

const made = (more: object = {}, id = "Weekly") => new Schedule(stack, id, { ...weekly, ...more });
const resources = () => Template.fromStack(stack).findResources("Custom::CarillonSchedule");
const properties = () => Object.values(resources())[0]?.["Properties"];

test("a schedule is one resource with its fields as properties, so that a difference names the field", () => {
  made({
    payload: { orderId: 1234, late: true },
    retry: { attempts: 3 },
    startsAt: new Date("2026-12-01T00:00:00Z"),
    endsAt: null,
    description: undefined,
  });
  expect(properties()).toEqual({
    ServiceToken: carillon.scheduleServiceToken,
    ServiceTimeout: "600",
    key: "report:weekly",
    when: "0 9 * * MON",
    timezone: "Europe/Berlin",
    target: { queue: "carillon-target-reports" },
    payload: '{"orderId":1234,"late":true}',
    retry: { attempts: 3 },
    startsAt: "2026-12-01T00:00:00.000Z",
  });
});

test.each([
  [undefined, "Delete"],
  [RemovalPolicy.DESTROY, "Delete"],
  [RemovalPolicy.RETAIN, "Retain"],
  [RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE, "RetainExceptOnCreate"],
])("with the removal policy %s, CloudFormation has the policy %s", (removalPolicy, DeletionPolicy) => {
  made({ removalPolicy });
  expect(Object.values(resources())).toMatchObject([{ DeletionPolicy }]);
});

test("every fault stops the synthesis in one error, with its path, its position and the construct's path", () => {
  const text = thrownBy(() =>
    made({ key: "a/b", when: "0 9 * * MOX", target: { queue: "no queue" }, timeout: "1y", colour: "red" }),
  );
  expect(text).toMatch(/^Shop\/Weekly: this schedule cannot be used:\n/);
  for (const part of [
    "\n  key: may not hold `/`",
    "\n  when: ",
    "(at position 8)",
    "\n  target.queue: takes the name",
    "\n  timeout: takes a duration",
    "\n  colour: ",
  ])
    expect(text).toContain(part);
});

test.each([
  ["a time that never comes", { when: "0 0 30 2 *" }, "when: "],
  ["a time that counts from now", { when: "in 3h" }, "when: counts from now"],
  ["a wrong entry in a list of times", { when: ["every 1h", "0 25 * * *"] }, "when[1]: "],
  ["fields that contradict each other", { serial: true }, "serial: takes a `group`"],
  ["a tag of another owner", { tags: ["stack:Other"] }, "tags[0]: may not begin with `apply:` or `stack:`"],
  ["a payload that is too large", { payload: "x".repeat(250_000) }, "payload: takes at most"],
])("a schedule with %s is refused at synth", (_, more, message) => {
  expect(() => made(more)).toThrow(message);
});

test("an error begins at the app's own line", () => {
  try {
    made({ when: "never" });
    expect.unreachable();
  } catch (error) {
    const [, first] =
      /\n {4}at .*?([\w.-]+\.ts):\d+/.exec(error instanceof Error ? (error.stack ?? "") : "") ?? [];
    expect(first).toBe("schedule.test.ts");
  }
});

const warnings = () =>
  Annotations.fromStack(stack)
    .findWarning("*", Match.anyValue())
    .map(({ entry }) => String(entry.data));

test("a time that is past is a warning at synth and no fault, because the schedule may have been made before", () => {
  made({ when: "at 2020-01-01T09:00" });
  made({ key: "years", when: "cron(0 9 ? * 2 2020)" }, "Years");
  const refused = "A deployment refuses a new schedule with it.";
  expect(warnings()).toEqual([
    expect.stringContaining(`2020-01-01T08:00:00Z is in the past. ${refused}`),
    expect.stringContaining(`All of its years are in the past. ${refused}`),
  ]);
});

test.each([30, 60 * 366])("a time that comes in %i days is no fault at synth", (days) => {
  made({ when: `at ${new Date(Date.now() + days * 86_400_000).toISOString()}` });
  expect(warnings()).toEqual(days > 366 ? [expect.stringContaining("over a year away")] : []);
});

test("a surprise in the times is a warning at synth", () => {
  made({ when: "0 9 31 * *" });
  expect(warnings()).toEqual([expect.stringMatching(/carillon:when/)]);
});

test("tokens may stand in any field, and the rest is checked as usual", () => {
  const queue = new Queue(stack, "Queue");
  const parameter = new CfnParameter(stack, "Cadence");
  const count = new CfnParameter(stack, "Count", { type: "Number" });
  made({ target: { queue: queue.queueArn, attributes: { from: queue.queueName } } });
  made(
    { key: `${parameter.valueAsString}:a`, when: parameter.valueAsString, timezone: Fn.ref("Cadence") },
    "Two",
  );
  made(
    { key: "three", maxFires: count.valueAsNumber, target: Lazy.any({ produce: () => ({ queue: "a" }) }) },
    "Three",
  );
  made({ key: "four", payload: { url: queue.queueUrl, n: count.valueAsNumber, plain: [1, null] } }, "Four");
  made({ key: "five", target: { webhook: { url: `https://${Fn.importValue("Host")}/hook` } } }, "Five");
  const parts = { attributes: Lazy.any({ produce: () => ({ a: "b" }) }), groupId: parameter.valueAsString };
  made(
    { key: "lists", tags: Fn.split(",", parameter.valueAsString), target: { queue: "a", ...parts } },
    "Lists",
  );
  made({ key: "kinds", target: { event: Lazy.any({ produce: () => ({ bus: "a" }) }) } }, "Kinds");
  expect(Object.values(resources()).map(({ Properties }) => Properties.target)).toMatchObject([
    { queue: { "Fn::GetAtt": [expect.any(String), "Arn"] } },
    {},
    { queue: "a" },
    {},
    { webhook: { url: { "Fn::Join": expect.anything() } } },
    { queue: "a", attributes: { a: "b" }, groupId: { Ref: "Cadence" } },
    { event: { bus: "a" } },
  ]);
  expect(Object.values(resources())[3]?.["Properties"].payload).toEqual({
    "Fn::Join": [
      "",
      ['{"url":"', { Ref: expect.any(String) }, '","n":', { Ref: "Count" }, ',"plain":[1,null]}'],
    ],
  });
  const wrong = () => made({ key: "six", target: { queue: queue.queueArn, groupId: "a b" } }, "Six");
  expect(wrong).toThrow("target.groupId: takes letters");
});

test("a secret of Secrets Manager is a reference in the template, and is checked by the deployment", () => {
  const secret = Secret.fromSecretNameV2(stack, "Secret", "hook").secretValue.unsafeUnwrap();
  made({ target: { webhook: { url: "https://example.com/hook", secret } } });
  made(
    {
      key: "two",
      target: { webhook: { url: "https://example.com", secret: "{{resolve:secretsmanager:hook}}" } },
    },
    "Two",
  );
  expect(JSON.stringify(properties().target)).toContain("{{resolve:secretsmanager:");
});

test("two schedules of one key are refused at synth, unless they may be of two deployments", () => {
  const imported = () => ({ scheduleServiceToken: Fn.importValue("Carillon-ScheduleServiceToken") });
  made({ carillon: imported() });
  expect(() => made({ carillon: imported() }, "Again")).toThrow(
    'Shop/Again: the key "report:weekly" is that of Shop/Weekly already',
  );
  made(
    { carillon: { scheduleServiceToken: "arn:aws:lambda:eu-central-1:123456789012:function:other" } },
    "Other",
  );
  // Stacks with the same import may go to different accounts.
  new Schedule(new Stack(app, "Production"), "Weekly", { ...weekly, carillon: imported() });
  const own = new Carillon(new Stack(app, "Platform"), "Carillon");
  made({ carillon: own }, "Own");
  expect(() => new Schedule(new Stack(app, "Billing"), "Weekly", { ...weekly, carillon: own })).toThrow(
    "is that of Shop/Own already",
  );
});

test("takeOver is a property only where it is true", () => {
  made({ takeOver: false });
  made({ key: "two", takeOver: true }, "Two");
  expect(properties()).not.toHaveProperty("takeOver");
  expect(Object.values(resources())[1]).toMatchObject({ Properties: { takeOver: true } });
});

test("the key of a schedule is a reference, so that what uses it waits for the schedule", () => {
  const { key } = made();
  expect(stack.resolve(key)).toEqual({ Ref: Object.keys(resources())[0] });
});

test("a Carillon of the same app gets the function with its first schedule, also from another stack", () => {
  const own = new Carillon(new Stack(app, "Platform"), "Carillon");
  const named = (id: string) => Object.keys(Template.fromStack(own.node.scope as Stack).findResources(id));
  made({ carillon: own });
  expect(named("AWS::Lambda::Function").filter((id) => id.includes("StackSchedules"))).toHaveLength(1);
  expect(properties().ServiceToken).toEqual({ "Fn::ImportValue": expect.stringContaining("StackSchedules") });
});

test("the setting stackSchedules makes the function and exports its ARN, for stacks of other apps", () => {
  const { template, ofType } = synthesised({ stackSchedules: "true" });
  const functions = ofType("AWS::Lambda::Function").filter(([id]) => id.startsWith("StackSchedules"));
  expect(Object(template.findOutputs("*"))).toMatchObject({
    ScheduleServiceToken: {
      Value: { "Fn::GetAtt": [functions[0]?.[0], "Arn"] },
      Export: { Name: "Carillon-ScheduleServiceToken" },
    },
  });
  // A schedule refers to the function alone, and needs the API with all that it needs.
  for (const part of [/^ApiFunction/, /^MigrationApplied/, /^DatabaseInstance/, /^NetworkSqs/])
    expect(functions[0]?.[1].DependsOn).toContainEqual(expect.stringMatching(part));
});

const node = z.object({
  type: z.string().default(""),
  $ref: z.string().optional(),
  anyOf: z.array(z.unknown()).default([]),
  properties: z.record(z.string(), z.unknown()).default({}),
});

/** The paths in a JSON schema whose values are of one of these types. */
function pathsOf(schema: unknown, types: readonly string[]): string[] {
  const { $defs } = z.object({ $defs: z.record(z.string(), z.unknown()) }).parse(schema);
  const within = (each: unknown, path: string): string[] => {
    const { type, $ref, anyOf, properties: inside } = node.parse(each);
    return [
      ...(types.includes(type) ? [path] : []),
      ...($ref === undefined ? [] : within($defs[$ref.slice("#/$defs/".length)], path)),
      ...anyOf.flatMap((choice) => within(choice, path)),
      ...Object.entries(inside).flatMap(([name, field]) =>
        within(field, path === "" ? name : `${path}.${name}`),
      ),
    ];
  };
  return within(schema, "").toSorted();
}

test("every number and boolean in a schedule's body is known to the function, which gets them as texts", () => {
  const shape = scheduleShape.omit({ payload: true });
  const schema = z.toJSONSchema(shape, { io: "input", unrepresentable: "any" });
  expect(pathsOf(schema, ["integer", "number"])).toEqual(numberFields.toSorted());
  expect(pathsOf(schema, ["boolean"])).toEqual(booleanFields.toSorted());
});
