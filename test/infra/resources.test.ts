import { App, Stack } from "aws-cdk-lib";
import { Match, Template } from "aws-cdk-lib/assertions";
import { Certificate } from "aws-cdk-lib/aws-certificatemanager";
import { InstanceClass, InstanceSize, InstanceType } from "aws-cdk-lib/aws-ec2";
import { EventBus, type IEventBus } from "aws-cdk-lib/aws-events";
import { Code, Function as LambdaFunction, Runtime } from "aws-cdk-lib/aws-lambda";
import { HostedZone, PublicHostedZone } from "aws-cdk-lib/aws-route53";
import { Topic } from "aws-cdk-lib/aws-sns";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import { expect, test } from "vitest";
import { Carillon, type CarillonProps } from "../../infra/carillon.ts";

const certificateArn =
  "arn:aws:acm:eu-central-1:123456789012:certificate/0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";

function setup(propsFor: (stack: Stack) => CarillonProps) {
  const app = new App({ context: { "aws:cdk:bundling-stacks": [] } });
  const stack = new Stack(app, "Theirs", { env: { account: "123456789012", region: "eu-central-1" } });
  new Carillon(stack, "Carillon", propsFor(stack));
  return stack;
}

const certificateIn = (stack: Stack) => Certificate.fromCertificateArn(stack, "Certificate", certificateArn);

// The class and its interface differ in whether an absent property may be undefined.
const busIn = (stack: Stack) => new EventBus(stack, "Bus") as IEventBus;

/** Each resource with the settings that it stands for. */
const pairs: readonly [resource: string, (stack: Stack) => CarillonProps, (stack: Stack) => CarillonProps][] =
  [
    [
      "alarmTopic",
      (stack) => ({ alarmTopic: new Topic(stack, "Topic") }),
      (stack) => ({ alarmTopicArn: new Topic(stack, "Topic").topicArn }),
    ],
    [
      "targetQueues",
      (stack) => ({ targetQueues: [new Queue(stack, "One"), new Queue(stack, "Two")] }),
      (stack) => ({ targetQueueArns: [new Queue(stack, "One").queueArn, new Queue(stack, "Two").queueArn] }),
    ],
    [
      "targetBuses",
      (stack) => ({ targetBuses: [busIn(stack)] }),
      (stack) => ({ targetBusArns: [busIn(stack).eventBusArn] }),
    ],
    [
      "targetFunctions",
      (stack) => ({ targetFunctions: [functionIn(stack)] }),
      (stack) => ({ targetFunctionArns: [functionIn(stack).functionArn] }),
    ],
    [
      "apiCertificate",
      (stack) => ({ apiDomainName: "carillon.example.com", apiCertificate: certificateIn(stack) }),
      (stack) => ({
        apiDomainName: "carillon.example.com",
        apiCertificateArn: certificateIn(stack).certificateArn,
      }),
    ],
    [
      "apiHostedZone",
      (stack) => ({
        apiDomainName: "carillon.example.com",
        apiCertificateArn: certificateArn,
        apiHostedZone: new PublicHostedZone(stack, "Zone", { zoneName: "example.com" }),
      }),
      (stack) => ({
        apiDomainName: "carillon.example.com",
        apiCertificateArn: certificateArn,
        apiHostedZoneId: new PublicHostedZone(stack, "Zone", { zoneName: "example.com" }).hostedZoneId,
        apiHostedZoneName: "example.com",
      }),
    ],
    [
      "databaseInstance",
      () => ({ databaseInstance: InstanceType.of(InstanceClass.M7G, InstanceSize.LARGE) }),
      () => ({ databaseClass: "m7g.large" }),
    ],
  ];

const functionIn = (stack: Stack) =>
  new LambdaFunction(stack, "Resize", {
    runtime: Runtime.NODEJS_24_X,
    handler: "index.handler",
    code: Code.fromInline("exports.handler = async () => {}"),
  });

test.each(pairs)(
  "The resource %s makes the same template as the settings that name it",
  (_name, resource, named) => {
    expect(Template.fromStack(setup(resource)).toJSON()).toEqual(Template.fromStack(setup(named)).toJSON());
  },
);

test("A resource and a setting that names it are refused together, every such pair in one error", () => {
  const both = (stack: Stack): CarillonProps => ({
    alarmTopic: new Topic(stack, "Topic"),
    alarmTopicArn: "arn:aws:sns:eu-central-1:123456789012:alarms",
    targetQueues: [],
    targetQueueArns: [],
    targetBuses: [busIn(stack)],
    apiHostedZone: new PublicHostedZone(stack, "Zone", { zoneName: "example.com" }),
    apiHostedZoneName: "example.com",
  });
  expect(() => setup(both)).toThrow(
    [
      "These settings cannot be used:",
      "alarmTopic: alarmTopicArn is given as well; give only one of the two",
      "targetQueues: targetQueueArns is given as well; give only one of the two",
      "apiHostedZone: apiHostedZoneName is given as well; give only one of the two",
    ].join("\n  "),
  );
});

test("A zone that the CDK has not looked up yet does not stop the synthesis that asks for it", () => {
  const stack = setup((scope) => ({
    apiDomainName: "carillon.example.com",
    apiCertificateArn: certificateArn,
    apiHostedZone: HostedZone.fromLookup(scope, "Zone", { domainName: "example.com" }),
  }));
  Template.fromStack(stack).hasResourceProperties("AWS::Route53::RecordSet", {
    Name: "carillon.example.com.",
    HostedZoneId: "DUMMY",
  });
});

test("The worker of a target queue with a key of its own may use the key", () => {
  const stack = setup((scope) => ({
    targetQueues: [new Queue(scope, "Orders", { encryption: QueueEncryption.KMS })],
  }));
  Template.fromStack(stack).hasResourceProperties("AWS::IAM::Policy", {
    Roles: [{ Ref: Match.stringLikeRegexp("^CarillonFastWorker") }],
    PolicyDocument: {
      Statement: Match.arrayWith([
        Match.objectLike({
          Action: ["kms:Decrypt", "kms:Encrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*"],
          Resource: { "Fn::GetAtt": [Match.stringLikeRegexp("^OrdersKey"), "Arn"] },
        }),
      ]),
    },
  });
});
