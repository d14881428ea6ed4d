import { App, Stack } from "aws-cdk-lib";
import { Annotations, Match, Template } from "aws-cdk-lib/assertions";
import { EventField } from "aws-cdk-lib/aws-events";
import { Queue } from "aws-cdk-lib/aws-sqs";
import { beforeAll, expect, test } from "vitest";
import { Watch } from "../../infra/watch/watch.ts";
import { idIn, type Synthesised, synthesised } from "./synthesised.ts";

let stack: Synthesised;
beforeAll(() => {
  stack = synthesised();
});

test("commands are kept for SQS's longest retention, and many are drained together", () => {
  const { template } = stack;
  template.hasResource("AWS::SQS::Queue", {
    DeletionPolicy: "RetainExceptOnCreate",
    Properties: {
      MessageRetentionPeriod: 14 * 86_400,
      VisibilityTimeout: 361,
      RedrivePolicy: { deadLetterTargetArn: Match.anyValue(), maxReceiveCount: 100 },
    },
  });
  template.hasResourceProperties("AWS::Lambda::EventSourceMapping", {
    BatchSize: 1_000,
    MaximumBatchingWindowInSeconds: 1,
    FunctionResponseTypes: ["ReportBatchItemFailures"],
  });
});

test("commands that wait raise an alarm", () => {
  stack.template.hasResourceProperties("AWS::CloudWatch::Alarm", {
    MetricName: "ApproximateAgeOfOldestMessage",
    Dimensions: [
      { Name: "QueueName", Value: { "Fn::GetAtt": [Match.stringLikeRegexp("^IngestQueue"), "QueueName"] } },
    ],
    Threshold: 900,
  });
});

test("a team's queue of commands reaches only the team's keys", () => {
  synthesised({ ingestPrefix: "team:" }).template.hasResourceProperties("AWS::Lambda::Function", {
    Environment: { Variables: Match.objectLike({ INGEST_PREFIX: "team:" }) },
  });
});

test("rules of other stacks are admitted by their names, and no other service is", () => {
  const shops = "arn:aws:events:eu-central-1:123456789012:rule/shop-*";
  const sendersOf = (settings: Record<string, unknown>) =>
    synthesised(settings)
      .ofType("AWS::SQS::QueuePolicy")
      .flatMap(([, { Properties }]) => Object(Properties["PolicyDocument"]).Statement)
      .filter(({ Effect }) => Effect === "Allow");
  expect(sendersOf({})).toEqual([]);
  const [sender, ...others] = sendersOf({ watchRuleArns: shops });
  expect(others).toEqual([]);
  expect(sender).toMatchObject({
    Principal: { Service: "events.amazonaws.com" },
    Action: "sqs:SendMessage",
    Condition: { ArnLike: { "aws:SourceArn": [shops] } },
  });
  expect(idIn(sender.Resource)).toMatch(/^IngestQueue/);
  expect(() => synthesised({ watchRuleArns: "arn:aws:events:*:*:rule/*" })).toThrow(
    "watchRuleArns: it takes ARNs",
  );
});

test("with commandSenders the queue admits these roles and users, and refuses all others but services", () => {
  const commandSenders = [
    "arn:aws:iam::123456789012:role/checkout",
    "arn:aws:iam::210987654321:user/ops/import",
  ];
  const [admitted, refused, ...others] = synthesised({ commandSenders })
    .ofType("AWS::SQS::QueuePolicy")
    .flatMap(([, { Properties }]) => Object(Properties["PolicyDocument"]).Statement)
    .filter(({ Action }) => Action === "sqs:SendMessage");
  expect(others).toEqual([]);
  expect(admitted).toMatchObject({ Effect: "Allow", Principal: { AWS: commandSenders } });
  expect(refused).toMatchObject({
    Effect: "Deny",
    Principal: { AWS: "*" },
    Condition: {
      ArnNotEquals: { "aws:PrincipalArn": commandSenders },
      Bool: { "aws:PrincipalIsAWSService": "false" },
    },
  });
  for (const { Resource } of [admitted, refused]) expect(idIn(Resource)).toMatch(/^IngestQueue/);
  for (const wrong of ["*", "arn:aws:iam::123456789012:root", "arn:aws:iam::*:role/a"])
    expect(() => synthesised({ commandSenders: wrong })).toThrow("commandSenders: it takes ARNs of roles");
});

test("a watch turns an event into a command with the event's id and time, and only its rule may send it", () => {
  const shop = new Stack(new App(), "Shop");
  const queue = new Queue(shop, "Commands");
  const orderId = EventField.fromPath("$.detail.orderId");
  new Watch(shop, "Unshipped", {
    queue,
    tenant: "shop",
    when: { source: ["shop"], detailType: ["order.created"] },
    command: {
      put: {
        key: `order:${orderId}:unshipped`,
        when: "in 3h",
        target: { handler: "order-unshipped" },
        payload: { orderId },
      },
    },
  });
  const template = Template.fromStack(shop);
  const [rule = ""] = Object.keys(template.findResources("AWS::Events::Rule"));
  template.hasResourceProperties("AWS::Events::Rule", {
    EventPattern: { source: ["shop"], "detail-type": ["order.created"] },
    Targets: [
      Match.objectLike({
        SqsParameters: { MessageGroupId: "shop" },
        InputTransformer: {
          InputPathsMap: { id: "$.id", time: "$.time", "detail-orderId": "$.detail.orderId" },
          InputTemplate:
            '{"id":<id>,"at":<time>,"put":{"key":"order:<detail-orderId>:unshipped","when":"in 3h","target":{"handler":"order-unshipped"},"payload":{"orderId":<detail-orderId>}}}',
        },
      }),
    ],
  });
  const [policy] = Object.values(template.findResources("AWS::SQS::QueuePolicy"));
  expect(policy?.["Properties"].PolicyDocument.Statement).toEqual([
    expect.objectContaining({
      Effect: "Allow",
      Principal: { Service: "events.amazonaws.com" },
      Condition: { ArnEquals: { "aws:SourceArn": { "Fn::GetAtt": [rule, "Arn"] } } },
    }),
  ]);
});

test("a watch in another stack than its queue is refused with the remedy", () => {
  const app = new App();
  const queue = new Queue(new Stack(app, "Scheduler"), "Commands");
  const elsewhere = { queue, when: { source: ["shop"] }, command: { delete: "order" } };
  expect(() => new Watch(new Stack(app, "Shop"), "Shipped", elsewhere)).toThrow(
    "a watch must be in the stack of its queue, Scheduler",
  );
});

test("a watch on a queue that was made elsewhere warns that the queue does not admit it", () => {
  const shop = new Stack(new App(), "Shop");
  const queue = Queue.fromQueueArn(shop, "Commands", "arn:aws:sqs:eu-central-1:123456789012:commands");
  new Watch(shop, "Shipped", { queue, when: { source: ["shop"] }, command: { delete: "order" } });
  Annotations.fromStack(shop).hasWarning("/Shop/Shipped", Match.stringLikeRegexp("no event arrives"));
});
