import { Match } from "aws-cdk-lib/assertions";
import { beforeAll, describe, expect, test } from "vitest";
import { type Synthesised, synthesised } from "./synthesised.ts";

let stack: Synthesised;
beforeAll(() => {
  stack = synthesised();
});

describe("alarms", () => {
  test("missing ticks raise an alarm, although they write no metric", () => {
    stack.template.hasResourceProperties("AWS::Logs::MetricFilter", {
      FilterPattern: Match.stringLikeRegexp('"tick.done"'),
      LogGroupName: { Ref: Match.stringLikeRegexp("^TickFunctionLogs") },
    });
    stack.template.hasResourceProperties("AWS::CloudWatch::Alarm", {
      Namespace: "Carillon",
      ComparisonOperator: "LessThanThreshold",
      Threshold: 1,
      Period: 60,
      EvaluationPeriods: 2,
      TreatMissingData: "breaching",
    });
  });

  test("every alarm explains its meaning, and notifies the configured topic when it starts and when it ends", () => {
    const topic = "arn:aws:sns:eu-central-1:123456789012:alarms";
    const alarms = synthesised({ alarmTopicArn: topic }).ofType("AWS::CloudWatch::Alarm");
    expect(alarms).toHaveLength(32);
    for (const [, { Properties }] of alarms) {
      expect(Properties["AlarmActions"]).toEqual([topic]);
      expect(Properties["OKActions"]).toEqual([topic]);
      expect(String(Properties["AlarmDescription"]).length).toBeGreaterThan(40);
    }
  });

  test("an alarm that can wait until the next working day notifies the topic of tickets, and every other one that of pages", () => {
    const [pages, tickets] = ["pages", "tickets"].map(
      (name) => `arn:aws:sns:eu-central-1:123456789012:${name}`,
    );
    const told = synthesised({ alarmTopicArn: pages, ticketTopicArn: tickets }).ofType(
      "AWS::CloudWatch::Alarm",
    );
    const topicOf = { page: [pages], ticket: [tickets] };
    const severities = told.map(([, { Properties }]) => {
      const [, severity] =
        / Severity: (page|ticket)\. https:\/\//.exec(String(Properties["AlarmDescription"])) ?? [];
      if (severity !== "page" && severity !== "ticket") throw new Error("The alarm has no severity.");
      expect(Properties["AlarmActions"]).toEqual(topicOf[severity]);
      expect(Properties["OKActions"]).toEqual(topicOf[severity]);
      return severity;
    });
    expect(new Set(severities).size).toBe(2);
    const onlyTickets = synthesised({ ticketTopicArn: tickets }).ofType("AWS::CloudWatch::Alarm");
    expect(onlyTickets.filter(([, { Properties }]) => "AlarmActions" in Properties)).toHaveLength(
      severities.filter((severity) => severity === "ticket").length,
    );
  });

  test("an alarm is raised where Lambda throttles the tick, a worker, the API or a function that takes commands or sends webhooks", () => {
    const [[, alarm] = []] = stack
      .ofType("AWS::CloudWatch::Alarm")
      .filter(([id]) => id.includes("FunctionsThrottled"));
    const functions = ["Api", "FastWorker", "Ingest", "SlowWorker", "Tick", "WebhookSender"];
    const measured = JSON.stringify(alarm?.Properties["Metrics"]);
    for (const name of functions) expect(measured).toMatch(new RegExp(`"Ref":"${name}Function`));
  });
});

describe("functions", () => {
  test("Lambda ends no chain of events at the functions that events lead back to, and at every other", () => {
    const allowed = stack
      .ofType("AWS::Lambda::Function")
      .filter(([, { Properties }]) => Properties["RecursiveLoop"] === "Allow")
      .map(([id]) => id.replace(/Function.*/, ""));
    expect(allowed.sort()).toEqual(["FastWorker", "Ingest", "SlowWorker", "WebhookSender"]);
  });

  test("functions run on Node 24 and ARM, trust RDS's roots where they connect to RDS, and keep their logs for the configured days", () => {
    const own = synthesised({ logRetentionDays: "90" });
    const functions = own
      .ofType("AWS::Lambda::Function")
      .filter(([id]) => !id.startsWith("MigrationProvider"));
    expect(functions).toHaveLength(8);
    const outside: string[] = [];
    for (const [id, { Properties }] of functions) {
      expect(Properties).toMatchObject({
        Runtime: "nodejs24.x",
        Architectures: ["arm64"],
        Handler: "index.handler",
        LoggingConfig: { LogGroup: { Ref: expect.any(String) } },
      });
      const { Variables } = Object(Properties["Environment"]);
      if (Variables.NODE_EXTRA_CA_CERTS !== "/var/runtime/ca-cert.pem") outside.push(id);
    }
    // The webhook sender trusts only the public roots, and the page calls nothing.
    expect(outside.sort()).toEqual([
      expect.stringMatching(/^PageFunction/),
      expect.stringMatching(/^WebhookSenderFunction/),
    ]);
    own.template.allResourcesProperties("AWS::Logs::LogGroup", { RetentionInDays: 90 });
  });

  test("functions have no secret in their environment", () => {
    for (const [, { Properties }] of stack.ofType("AWS::Lambda::Function")) {
      const text = JSON.stringify(Properties["Environment"] ?? {});
      expect(text).not.toMatch(/resolve:|PASSWORD|TOKEN/);
    }
  });

  test("functions get the queues, the database and each other's names by the variables that the code reads", () => {
    const variablesOf = (path: string): string[] => {
      const [found] = stack.ofType("AWS::Lambda::Function").filter(([id]) => id.startsWith(path));
      const { Variables } = Object(found?.[1].Properties["Environment"]);
      return Object.keys(Variables).filter((name) => !name.startsWith("NODE_"));
    };
    const where = ["DATABASE_HOST", "DATABASE_NAME", "DATABASE_PORT"];
    const login = ["DATABASE_AUTH", "DATABASE_USER", "DATABASE_PREPARE"];
    const querying = [...where, ...login, "FAST_QUEUE_URL", "SLOW_QUEUE_URL"].sort();
    const sources = "CARILLON_TARGET_EVENT_SOURCES";
    const allowList = ["TARGET_ACCOUNT", "TARGET_BUSES", "TARGET_FUNCTIONS", "TARGET_QUEUES", sources];
    expect(variablesOf("ApiFunction").sort()).toEqual(
      [...querying, ...allowList, "API_AUTH", "WEBHOOK_FUNCTION"].sort(),
    );
    const measuring = "CARILLON_METRICS_NAMESPACE";
    const ofIngest = [measuring, "INGEST_DEAD_QUEUE_URL", "INGEST_QUEUE_URL"];
    expect(variablesOf("IngestFunction").sort()).toEqual([...querying, ...allowList, ...ofIngest].sort());
    const telling = [...querying, measuring, "CARILLON_EVENTS_BUS", "LIFECYCLE_EVENTS"];
    expect(variablesOf("SlowWorkerFunction").sort()).toEqual(
      [...telling, "TARGET_WINDOW", "WEBHOOK_FUNCTION"].sort(),
    );
    expect(variablesOf("FastWorkerFunction").sort()).toEqual(
      [...telling, "RESERVED_QUEUE_URLS", sources].sort(),
    );
    expect(variablesOf("TickFunction").sort()).toEqual(
      [
        ...telling,
        ...allowList,
        "AUDIT_RETENTION_DAYS",
        "CANARY_MINUTES",
        "CANARY_QUEUE_URL",
        "RETENTION_DAYS",
      ].sort(),
    );
    expect(variablesOf("WebhookSenderFunction")).toEqual(["WEBHOOK_KEY"]);
    expect(variablesOf("PageFunction").sort()).toEqual(["PAGE_DIRECTORY", "PAGE_LOGS_LINK", "PAGE_NAME"]);
    expect(variablesOf("MigrationFunction").sort()).toEqual(
      [...where, "DATABASE_AUTH", "DATABASE_SECRET_ARN", "MIGRATIONS_DIRECTORY", "WEBHOOK_FUNCTION"].sort(),
    );
  });
});
