import { App, Fn, Stack } from "aws-cdk-lib";
import { Match, Template } from "aws-cdk-lib/assertions";
import { Topic } from "aws-cdk-lib/aws-sns";
import { Queue } from "aws-cdk-lib/aws-sqs";
import { expect, expectTypeOf, test } from "vitest";
import { Carillon } from "../../infra/carillon.ts";
import type { GivenSettings } from "../../infra/settings/given.ts";
import {
  checkedSettings,
  defaultSettings,
  type Settings,
  settingsFrom,
  stackNameFrom,
} from "../../infra/settings.ts";
import { synthesised } from "./synthesised.ts";

function read(context: Record<string, unknown>): Settings {
  return settingsFrom(new App({ context }).node);
}

type Plain<Given> = {
  -readonly [Name in keyof Given]-?: Exclude<Given[Name], undefined> extends readonly (infer Item)[]
    ? Item[]
    : Exclude<Given[Name], undefined>;
};

test("The declared type of every setting is that of the code which reads it", () => {
  expectTypeOf<Plain<GivenSettings>>().toEqualTypeOf<Plain<Settings>>();
});

test("every setting has a default", () => {
  expect(read({})).toEqual(defaultSettings);
});

test("text from the command line and JSON values mean the same", () => {
  const given = {
    "carillon:fastConcurrency": "8",
    "carillon:highlyAvailable": "true",
    "carillon:targetQueueArns":
      "arn:aws:sqs:eu-central-1:123456789012:a,arn:aws:sqs:eu-central-1:123456789012:b-*",
  };
  const same = {
    "carillon:fastConcurrency": 8,
    "carillon:highlyAvailable": true,
    "carillon:targetQueueArns": [
      "arn:aws:sqs:eu-central-1:123456789012:a",
      "arn:aws:sqs:eu-central-1:123456789012:b-*",
    ],
  };
  expect(read(given)).toEqual(read(same));
  expect(read(given).fastConcurrency).toBe(8);
});

test("all faults of the settings are reported in one error, each with the setting's name", () => {
  const wrong = {
    "carillon:fastConcurrency": "many",
    "carillon:databaseClass": "db.t4g.micro",
    "carillon:databaseProtected": "perhaps",
    "carillon:logRetentionDays": 31,
    "carillon:databaseSize": 20,
  };
  expect(() => read(wrong)).toThrow("carillon:fastConcurrency: it takes a whole number from 2 to 1000");
  expect(() => read(wrong)).toThrow('carillon:databaseClass: it takes an instance class such as "t4g.small"');
  expect(() => read(wrong)).toThrow(
    "carillon:databaseSize: there is no such setting; the settings are database, databaseClass",
  );
  expect(() => read(wrong)).toThrow(
    "carillon:logRetentionDays: it takes one of the values that CloudWatch Logs supports",
  );
  expect(() => read(wrong)).toThrow("carillon:databaseProtected: it takes true or false");
});

test("context named as a setting without the prefix is refused by this repository's app, and left to an app of one's own", () => {
  const context = { databaseProtected: "false", stackName: "Orders", "carillon:tickShards": "many", mine: 1 };
  expect(() => read(context)).toThrow(
    "databaseProtected: it is not read; did you mean carillon:databaseProtected?",
  );
  expect(() => read(context)).toThrow("stackName: it is not read; did you mean carillon:stackName?");
  expect(() => read(context)).toThrow("carillon:tickShards: ");
  expect(read({ mine: 1 })).toEqual(defaultSettings);
  const theirs = new Stack(new App({ context: { ...context, "aws:cdk:bundling-stacks": [] } }), "Theirs");
  expect(() => new Carillon(theirs, "Carillon")).not.toThrow();
});

test("an allow-list cannot match every resource: account, region and a name are needed", () => {
  for (const arn of [
    "*",
    "arn:aws:sqs:*:*:*",
    "arn:aws:sqs:eu-central-1:123456789012:*",
    "arn:aws:sqs:eu-central-1::orders",
    "orders",
  ]) {
    expect(() => read({ "carillon:targetQueueArns": arn })).toThrow("carillon:targetQueueArns");
  }
  for (const arn of [
    "*",
    "arn:aws:events:eu-central-1:123456789012:event-bus/*",
    "arn:aws:sqs:eu-central-1:123456789012:orders",
  ]) {
    expect(() => read({ "carillon:targetBusArns": arn })).toThrow("carillon:targetBusArns");
  }
  for (const arn of [
    "*",
    "arn:aws:lambda:eu-central-1:123456789012:function:*",
    "arn:aws:lambda:eu-central-1:123456789012:function:resize:live",
    "resize",
  ]) {
    expect(() => read({ "carillon:targetFunctionArns": arn })).toThrow("carillon:targetFunctionArns");
  }
});

test("a source of events is exact, or a beginning that is marked as one, and none is of AWS", () => {
  const sources = ["carillon", "shop.*", "com.example:billing/eu@1"];
  expect(read({ "carillon:targetEventSources": sources }).targetEventSources).toEqual(sources);
  for (const source of ["*", "", "a*b", "shop.**", "shop?", "$" + "{aws:username}", "aws.ec2", "AWS.*", " "])
    expect(() => read({ "carillon:targetEventSources": [source] })).toThrow("carillon:targetEventSources");
});

test("a target of some keys has their prefix, its kind and a name, or the beginning of names", () => {
  const entries = ["billing:=queue/billing-*", "a=b:=handler/charge", "shop:=source/shop.*", "x:=bus/team/x"];
  expect(read({ "carillon:targetPrefixes": entries }).targetPrefixes).toEqual(entries);
  for (const entry of [
    "billing:",
    "queue/a",
    "=queue/a",
    "a:=topic/b",
    "a:=queue/",
    "a:=queue/*",
    "a:=handler/A",
  ])
    expect(() => read({ "carillon:targetPrefixes": [entry] })).toThrow("carillon:targetPrefixes");
});

test("an allow-list without room in a function's environment is refused before the deployment", () => {
  const arn = (n: number) => `arn:aws:sqs:eu-central-1:123456789012:orders-of-customer-${n}`;
  const many = (length: number) => Array.from({ length }, (_, n) => arn(100 + n));
  expect(read({ "carillon:targetQueueArns": many(14) }).targetQueueArns).toHaveLength(14);
  expect(() => read({ "carillon:targetQueueArns": many(15) })).toThrow(
    "carillon:targetQueueArns: it takes at most 900 characters; name many at once by ending them with *",
  );
  const bus = (n: number) => `arn:aws:events:eu-central-1:123456789012:event-bus/customer-${n}`;
  const buses = Array.from({ length: 13 }, (_, n) => bus(100 + n));
  const two = { "carillon:targetQueueArns": many(14), "carillon:targetBusArns": buses };
  expect(read(two).targetBusArns).toHaveLength(13);
  const networks = Array.from({ length: 28 }, (_, n) => `2001:db8:${n}::/48`);
  expect(() => read({ ...two, "carillon:webhookDenyNetworks": networks })).toThrow(
    "carillon:targetQueueArns: with targetBusArns, targetEventSources, targetFunctionArns, targetPrefixes and webhookDenyNetworks it takes at most 2000 characters; name many at once by ending them with *",
  );
});

test("an app may pass its own topic and queue as CDK tokens before they are deployed", () => {
  const stack = new Stack(new App({ context: { "aws:cdk:bundling-stacks": [] } }), "Orders");
  const [topic, queue] = [new Topic(stack, "OnCall"), new Queue(stack, "Reports")];
  new Carillon(stack, "Carillon", { alarmTopicArn: topic.topicArn, targetQueueArns: [queue.queueArn] });
  const template = Template.fromStack(stack);
  const arn = stack.resolve(queue.queueArn);
  template.allResourcesProperties("AWS::CloudWatch::Alarm", {
    AlarmActions: [stack.resolve(topic.topicArn)],
  });
  template.hasResourceProperties("AWS::Lambda::Function", {
    Environment: { Variables: { TARGET_QUEUES: arn } },
  });
  template.hasResourceProperties("AWS::IAM::Policy", {
    PolicyDocument: {
      Statement: Match.arrayWith([
        Match.objectLike({ Action: ["sqs:SendMessage", "sqs:GetQueueUrl"], Resource: arn }),
      ]),
    },
  });
});

test("a token counts with its longest possible value, and a principal's scope and prefix are checked although its ARN is a token", () => {
  const tokens = Array.from({ length: 8 }, (_, n) => Fn.importValue(`queue-${n}`));
  expect(checkedSettings({ targetQueueArns: tokens.slice(1) }).targetQueueArns).toHaveLength(7);
  expect(() => checkedSettings({ targetQueueArns: tokens })).toThrow("it takes at most 900 characters");
  const role = Fn.importValue("role");
  expect(checkedSettings({ apiPrincipals: [`${role} write billing:`] }).apiPrincipals).toHaveLength(1);
  expect(() => checkedSettings({ apiPrincipals: [`${role} rule billing:`] })).toThrow("apiPrincipals: ");
});

test("denied networks of webhooks reach the sender of webhooks and every function that accepts schedules", () => {
  const networks = "203.0.113.0/24, 2001:db8::/32";
  const told = { CARILLON_WEBHOOK_DENY: "203.0.113.0/24,2001:db8::/32" };
  const functions = synthesised({ webhookDenyNetworks: networks })
    .ofType("AWS::Lambda::Function")
    .filter(([, { Properties }]) => JSON.stringify(Properties).includes("CARILLON_WEBHOOK_DENY"));
  expect(functions.map(([id]) => id.replace(/Function.*/, "")).sort()).toEqual([
    "Api",
    "Ingest",
    "Tick",
    "WebhookSender",
  ]);
  for (const [, { Properties }] of functions)
    expect(Properties["Environment"]).toMatchObject({ Variables: told });
  for (const wrong of ["203.0.113.0", "203.0.113.0/33", "example.com/24"])
    expect(() => read({ "carillon:webhookDenyNetworks": wrong })).toThrow(
      "carillon:webhookDenyNetworks: it takes networks such as 203.0.113.0/24",
    );
});

test("high availability is a standby of the database and endpoints in both zones", () => {
  const [one, two] = [synthesised(), synthesised({ highlyAvailable: true })];
  one.template.hasResourceProperties("AWS::RDS::DBInstance", { MultiAZ: false });
  two.template.hasResourceProperties("AWS::RDS::DBInstance", { MultiAZ: true });
  const subnetsOf = (stack: typeof one) =>
    stack.ofType("AWS::EC2::VPCEndpoint").map(([, { Properties }]) => Object(Properties["SubnetIds"]).length);
  expect(subnetsOf(one)).toEqual([1, 1, 1, 1]);
  expect(subnetsOf(two)).toEqual([2, 2, 2, 2]);
});

test("the setting of lifecycle events takes a list, or none", () => {
  expect(read({}).lifecycleEvents).toEqual(["dead", "missed"]);
  expect(read({ "carillon:lifecycleEvents": "failed, dead" }).lifecycleEvents).toEqual(["failed", "dead"]);
  expect(read({ "carillon:lifecycleEvents": ["skipped"] }).lifecycleEvents).toEqual(["skipped"]);
  expect(read({ "carillon:lifecycleEvents": "none" }).lifecycleEvents).toEqual([]);
  expect(() => read({ "carillon:lifecycleEvents": "dead,late", "carillon:lifecycleBus": "my bus" })).toThrow(
    /lifecycleEvents: it takes some of started, .* or none, not late[\s\S]*lifecycleBus: it takes the name of an event bus/,
  );
});

test("a second stack needs another stack name, which is not a setting of the construct", () => {
  const named = (stackName: unknown) => new App({ context: { "carillon:stackName": stackName } }).node;
  expect(stackNameFrom(new App().node)).toBe("Carillon");
  expect(stackNameFrom(named("Carillon-Orders"))).toBe("Carillon-Orders");
  expect(settingsFrom(named("Carillon-Orders"))).toEqual(defaultSettings);
  expect(() => stackNameFrom(named("my_stack"))).toThrow(
    "carillon:stackName: it takes letters, digits and hyphens",
  );
});
