import { Match } from "aws-cdk-lib/assertions";
import { beforeAll, describe, expect, test } from "vitest";
import { migrationTime } from "../../lib/config/migration-time.ts";
import { idIn, type Synthesised, synthesised } from "./synthesised.ts";

let stack: Synthesised;
beforeAll(() => {
  stack = synthesised();
});

function numberOf(id: string, property: string): number {
  const value = stack.resources[id]?.Properties[property];
  if (typeof value !== "number") throw new Error(`${property} of ${id} is ${JSON.stringify(value)}`);
  return value;
}

describe("time runs out in order", () => {
  test("a message is hidden for at least six times the worker's timeout, and its retention is longer than that", () => {
    const mappings = stack.ofType("AWS::Lambda::EventSourceMapping");
    expect(mappings).toHaveLength(3);
    for (const [, { Properties }] of mappings) {
      const visibility = numberOf(idIn(Properties["EventSourceArn"]), "VisibilityTimeout");
      const timeout = numberOf(idIn(Properties["FunctionName"]), "Timeout");
      const window = Number(Properties["MaximumBatchingWindowInSeconds"] ?? 0);
      expect(visibility).toBeGreaterThanOrEqual(6 * timeout + window);
      expect(visibility).toBeLessThanOrEqual(43_200);
    }
  });

  test("a tick ends before the next one starts, a request before its gateway gives up, and a handler's ten minutes within its worker's timeout", () => {
    const timeoutOf = (path: string) => {
      const [found] = stack.ofType("AWS::Lambda::Function").filter(([id]) => id.startsWith(path));
      return found === undefined ? Number.NaN : numberOf(found[0], "Timeout");
    };
    expect(timeoutOf("TickFunction")).toBeLessThan(60);
    expect(timeoutOf("ApiFunction")).toBeLessThan(30);
    expect(timeoutOf("SlowWorkerFunction")).toBeGreaterThan(600);
    expect(timeoutOf("MigrationFunction")).toBe(900);
  });

  test("a tick is never retried: the rule and Lambda drop its event after a minute", () => {
    stack.template.hasResourceProperties("AWS::Events::Rule", {
      ScheduleExpression: "cron(* * * * ? *)",
      State: "ENABLED",
      Targets: [Match.objectLike({ RetryPolicy: { MaximumEventAgeInSeconds: 60, MaximumRetryAttempts: 0 } })],
    });
    stack.template.hasResourceProperties("AWS::Lambda::EventInvokeConfig", {
      FunctionName: { Ref: Match.stringLikeRegexp("^TickFunction") },
      MaximumEventAgeInSeconds: 60,
      MaximumRetryAttempts: 0,
    });
  });
});

describe("queues", () => {
  test("each job queue moves messages that fail to a dead-letter queue for fourteen days, with an alarm", () => {
    const queues = stack.ofType("AWS::SQS::Queue");
    const jobQueues = queues.filter(([, { Properties }]) => "RedrivePolicy" in Properties);
    expect(jobQueues).toHaveLength(3);
    // Besides these and their dead-letter queues there is only the canary's queue, which nothing
    // reads.
    expect(queues).toHaveLength(7);
    for (const [, { Properties }] of jobQueues) {
      const { deadLetterTargetArn } = Object(Properties["RedrivePolicy"]);
      expect(numberOf(idIn(deadLetterTargetArn), "MessageRetentionPeriod")).toBe(14 * 24 * 3_600);
      stack.template.hasResourceProperties("AWS::CloudWatch::Alarm", {
        MetricName: "ApproximateNumberOfMessagesVisible",
        Dimensions: [
          { Name: "QueueName", Value: { "Fn::GetAtt": [idIn(deadLetterTargetArn), "QueueName"] } },
        ],
        Threshold: 0,
        ComparisonOperator: "GreaterThanThreshold",
      });
    }
  });

  test("each queue has a name known in advance, and its dead-letter queue accepts messages from that queue only", () => {
    const redriven = stack
      .ofType("AWS::SQS::Queue")
      .filter(([, { Properties }]) => "RedrivePolicy" in Properties);
    const names = redriven.map(([, { Properties }]) => JSON.stringify(Properties["QueueName"]));
    expect(new Set(names).size).toBe(3);
    for (const [, { Properties }] of redriven) {
      const { deadLetterTargetArn } = Object(Properties["RedrivePolicy"]);
      const [, parts] = Object(Properties["QueueName"])["Fn::Join"];
      const [given, stackUuid] = parts;
      expect(stackUuid).toEqual({ "Fn::Select": [2, { "Fn::Split": ["/", { Ref: "AWS::StackId" }] }] });
      // SQS allows eighty characters, and the stack's id takes thirty-six of them.
      expect(given.length + 36).toBeLessThanOrEqual(80);
      const allowed = stack.resources[idIn(deadLetterTargetArn)]?.Properties["RedriveAllowPolicy"];
      expect(allowed).toEqual({
        redrivePermission: "byQueue",
        sourceQueueArns: [
          {
            "Fn::Join": [
              "",
              [
                "arn:",
                { Ref: "AWS::Partition" },
                ":sqs:",
                { Ref: "AWS::Region" },
                ":",
                { Ref: "AWS::AccountId" },
                `:${given}`,
                stackUuid,
              ],
            ],
          },
        ],
      });
    }
  });

  test("deliveries to queues and buses never wait for a handler: each worker has its own queue and its own function", () => {
    const taken = stack
      .ofType("AWS::Lambda::EventSourceMapping")
      .map(([, { Properties }]) => [
        idIn(Properties["EventSourceArn"]).replace(/[0-9A-F]{8}$/, ""),
        idIn(Properties["FunctionName"]).replace(/[0-9A-F]{8}$/, ""),
      ]);
    expect(taken.sort()).toEqual([
      ["FastQueue", "FastWorkerFunction"],
      ["IngestQueue", "IngestFunction"],
      ["SlowQueue", "SlowWorkerFunction"],
    ]);
    // With reserved concurrency, messages that one function received could be throttled.
    for (const [, { Properties }] of stack.ofType("AWS::Lambda::Function"))
      expect(Properties["ReservedConcurrentExecutions"]).toBeUndefined();
  });

  test("workers report failures message by message, and never run more invocations at once than the setting allows", () => {
    const bounded = synthesised({ fastConcurrency: "7", slowConcurrency: 3, ingestConcurrency: 5 });
    const mappings = bounded
      .ofType("AWS::Lambda::EventSourceMapping")
      .map(([, { Properties }]) => Properties);
    for (const properties of mappings) {
      expect(properties["FunctionResponseTypes"]).toEqual(["ReportBatchItemFailures"]);
    }
    expect(mappings.map((properties) => properties["ScalingConfig"])).toEqual([
      { MaximumConcurrency: 5 },
      { MaximumConcurrency: 7 },
      { MaximumConcurrency: 3 },
    ]);
  });

  test("all stored data is encrypted, and unencrypted requests are refused", () => {
    const queues = stack.ofType("AWS::SQS::Queue").map(([id]) => id);
    for (const id of queues) {
      expect(stack.resources[id]?.Properties["SqsManagedSseEnabled"]).toBe(true);
      stack.template.hasResourceProperties("AWS::SQS::QueuePolicy", {
        Queues: [{ Ref: id }],
        PolicyDocument: {
          Statement: Match.arrayWith([
            Match.objectLike({ Effect: "Deny", Condition: { Bool: { "aws:SecureTransport": "false" } } }),
          ]),
        },
      });
    }
    stack.template.hasResourceProperties("AWS::RDS::DBInstance", { StorageEncrypted: true });
    stack.template.hasResourceProperties("AWS::RDS::DBParameterGroup", {
      Parameters: Match.objectLike({ "rds.force_ssl": "1" }),
    });
  });
});

describe("nothing is public but the API", () => {
  test("the network has no route in or out", () => {
    for (const type of ["InternetGateway", "NatGateway", "Route", "EIP", "EgressOnlyInternetGateway"]) {
      stack.template.resourceCountIs(`AWS::EC2::${type}`, 0);
    }
    stack.template.allResourcesProperties("AWS::EC2::Subnet", { MapPublicIpOnLaunch: false });
    stack.template.allResourcesProperties("AWS::RDS::DBInstance", { PubliclyAccessible: false });
    stack.template.resourceCountIs("AWS::Lambda::Url", 0);
  });

  test("security groups admit only each other, on the ports of TLS and Postgres", () => {
    for (const [, { Properties }] of stack.ofType("AWS::EC2::SecurityGroup")) {
      expect(Properties["SecurityGroupIngress"]).toBeUndefined();
      expect(Properties["SecurityGroupEgress"]).toEqual([
        expect.objectContaining({ CidrIp: "255.255.255.255/32", IpProtocol: "icmp" }),
      ]);
    }
    const rules = [
      ...stack.ofType("AWS::EC2::SecurityGroupIngress"),
      ...stack.ofType("AWS::EC2::SecurityGroupEgress"),
    ].map(([, { Properties }]) => Properties);
    for (const rule of rules) {
      expect(Object.keys(rule).filter((name) => name.startsWith("Cidr"))).toEqual([]);
      expect([443, 5432]).toContain(rule["FromPort"]);
      expect(rule["ToPort"]).toBe(rule["FromPort"]);
    }
    expect(rules).toHaveLength(4);
  });

  test("every function is in the network, except those that answer CloudFormation, the page, and the one that sends webhooks", () => {
    const outside = stack
      .ofType("AWS::Lambda::Function")
      .filter(([, { Properties }]) => !("VpcConfig" in Properties))
      .map(([id]) => id);
    expect(outside.sort()).toEqual([
      expect.stringMatching(/^MigrationProviderframeworkisComplete/),
      expect.stringMatching(/^MigrationProviderframeworkonEvent/),
      expect.stringMatching(/^MigrationProviderframeworkonTimeout/),
      expect.stringMatching(/^PageFunction/),
      expect.stringMatching(/^WebhookSenderFunction/),
    ]);
  });

  test("only the gateway and the rule may invoke a function from outside", () => {
    const principals = stack
      .ofType("AWS::Lambda::Permission")
      .map(([, { Properties }]) => [Properties["Principal"], "SourceArn" in Properties]);
    expect(principals.sort()).toEqual([
      ["apigateway.amazonaws.com", true],
      ["apigateway.amazonaws.com", true],
      ["events.amazonaws.com", true],
    ]);
  });

  test("the API limits requests and logs each of them, without headers and query strings", () => {
    stack.template.resourceCountIs("AWS::ApiGatewayV2::Api", 1);
    stack.template.hasResourceProperties("AWS::ApiGatewayV2::Stage", {
      StageName: "$default",
      DefaultRouteSettings: { ThrottlingBurstLimit: 25, ThrottlingRateLimit: 50 },
      AccessLogSettings: {
        DestinationArn: Match.anyValue(),
        Format: Match.not(Match.stringLikeRegexp("(authorization|header|query)")),
      },
    });
    stack.template.hasResourceProperties("AWS::ApiGatewayV2::Route", { RouteKey: "$default" });
    stack.template.hasResourceProperties("AWS::ApiGatewayV2::Api", { CorsConfiguration: Match.absent() });
  });
});

test.each(["http", "rest"])(
  "the access log of a %s API is a vended log, named after its stack",
  (apiKind) => {
    const names = synthesised({ apiKind })
      .ofType("AWS::Logs::LogGroup")
      .filter(([id]) => id.includes("AccessLogs"))
      .map(([, { Properties }]) => Properties["LogGroupName"]);
    // Other logs take a part of the 5,120 characters of the account's resource policy.
    expect(names).toEqual([
      { "Fn::Join": ["", ["/aws/vendedlogs/apigateway/", { Ref: "AWS::StackName" }, expect.any(String)]] },
    ]);
  },
);

describe("order", () => {
  test("every function that queries, is invoked or serves the page waits for the migration, and is deleted before it", () => {
    const [[migration]] = [stack.ofType("Custom::CarillonMigration").map(([id]) => id)];
    const waiting = [
      "AWS::Lambda::EventSourceMapping",
      "AWS::Events::Rule",
      "AWS::ApiGatewayV2::Route",
      "AWS::ApiGatewayV2::Stage",
    ].flatMap((type) => stack.ofType(type));
    const functions = stack
      .ofType("AWS::Lambda::Function")
      .filter(([id]) => !id.startsWith("Migration") && !id.startsWith("WebhookSender"));
    expect(waiting).toHaveLength(11);
    expect(functions).toHaveLength(6);
    for (const [, { DependsOn }] of [...waiting, ...functions]) expect(DependsOn).toContain(migration);
  });

  test("the migration waits for the database and for its endpoints, and runs when a migration is new", () => {
    const [migration] = stack.ofType("Custom::CarillonMigration").map(([, each]) => each);
    for (const [id] of stack.ofType("AWS::EC2::VPCEndpoint")) expect(migration?.DependsOn).toContain(id);
    expect(migration?.Properties["migrations"]).toMatch(/^[0-9a-f]{64}$/);
    // CloudFormation's longest wait; the function reports the remaining work before that.
    expect(migration?.Properties["ServiceTimeout"]).toBe("3600");
    expect(migrationTime.givesUpAfterMinutes).toBeLessThan(60);
    stack.template.hasResourceProperties("AWS::Lambda::Function", {
      Environment: {
        Variables: {
          DATABASE_HOST: { "Fn::GetAtt": [Match.stringLikeRegexp("^DatabaseInstance"), "Endpoint.Address"] },
          DATABASE_SECRET_ARN: Match.anyValue(),
        },
      },
    });
  });

  test("the data outlives the stack: the database is protected from deletion, and leaves a snapshot when it is deleted", () => {
    stack.template.hasResource("AWS::RDS::DBInstance", {
      DeletionPolicy: "Snapshot",
      UpdateReplacePolicy: "Snapshot",
      Properties: { DeletionProtection: true, BackupRetentionPeriod: 7 },
    });
    synthesised({ databaseProtected: "false" }).template.hasResourceProperties("AWS::RDS::DBInstance", {
      DeletionProtection: false,
    });
  });
});
