import { EventBridgeClient, ListTargetsByRuleCommand } from "@aws-sdk/client-eventbridge";
import {
  GetEventSourceMappingCommand,
  GetFunctionConfigurationCommand,
  GetFunctionEventInvokeConfigCommand,
  LambdaClient,
} from "@aws-sdk/client-lambda";
import {
  GetSecretValueCommand,
  ListSecretsCommand,
  SecretsManagerClient,
} from "@aws-sdk/client-secrets-manager";
import { GetQueueAttributesCommand, SQSClient } from "@aws-sdk/client-sqs";
import { z } from "zod";
import type { EmulatorEnvironment } from "../../infra/tools/localstack/emulator.ts";
import type { Template } from "./gaps.ts";
import { type Created, callByQuery, callByTarget, elements } from "./services.ts";

/** Clients of the emulator. */
export type Clients = ReturnType<typeof clientsOf>;

export function clientsOf({ AWS_ENDPOINT_URL, AWS_REGION, ...key }: EmulatorEnvironment) {
  const credentials = { accessKeyId: key.AWS_ACCESS_KEY_ID, secretAccessKey: key.AWS_SECRET_ACCESS_KEY };
  const settings = { endpoint: AWS_ENDPOINT_URL, region: AWS_REGION, credentials };
  return {
    sqs: new SQSClient(settings),
    lambda: new LambdaClient(settings),
    events: new EventBridgeClient(settings),
    secrets: new SecretsManagerClient(settings),
  };
}

type Properties = Template["Resources"][string]["Properties"];

/** One resource, as in the template and as its service created it. */
export interface Subject {
  readonly clients: Clients;
  readonly properties: Properties;
  readonly physicalId: string;
  readonly created: ReadonlyMap<string, Created>;
  readonly emulator: EmulatorEnvironment;
}

/**
 * An expectation for each resource of a type: the wanted value, and the value that its service
 * returns.
 */
export interface Expectation {
  readonly type: string;
  readonly says: string;
  readonly compare: (subject: Subject) => Promise<{ readonly wanted: unknown; readonly found: unknown }>;
}

const reference = z.union([
  z.object({ Ref: z.string() }).transform(({ Ref }) => Ref),
  z.object({ "Fn::GetAtt": z.tuple([z.string(), z.string()]) }).transform((get) => get["Fn::GetAtt"][0]),
]);

function physicalIdOf(value: unknown, { created }: Subject): string {
  const id = reference.parse(value);
  const found = created.get(id)?.physicalId;
  if (found === undefined) throw new Error(`Nothing was created as ${id}.`);
  return found;
}

async function attributes({ physicalId, clients: { sqs } }: Subject): Promise<Record<string, string>> {
  const all = new GetQueueAttributesCommand({ QueueUrl: physicalId, AttributeNames: ["All"] });
  return { ...(await sqs.send(all)).Attributes };
}

const redrive = z.object({ maxReceiveCount: z.coerce.number() });
const statements = z.object({ Statement: z.array(z.looseObject({})) });
const asyncInvoke = z.object({ MaximumRetryAttempts: z.number(), MaximumEventAgeInSeconds: z.number() });

export const expectations: readonly Expectation[] = [
  {
    type: "AWS::SQS::Queue",
    says: "visibility timeout, retention, encryption and the limit of receives are those of the template",
    async compare(subject) {
      const { properties: wanted } = subject;
      const found = await attributes(subject);
      const policy = wanted["RedrivePolicy"];
      return {
        wanted: [
          String(wanted["VisibilityTimeout"] ?? 30),
          String(wanted["MessageRetentionPeriod"] ?? 345_600),
          String(wanted["SqsManagedSseEnabled"] ?? true),
          policy && redrive.parse(policy),
        ],
        found: [
          found["VisibilityTimeout"],
          found["MessageRetentionPeriod"],
          found["SqsManagedSseEnabled"],
          found["RedrivePolicy"] && redrive.parse(JSON.parse(found["RedrivePolicy"])),
        ],
      };
    },
  },
  {
    type: "AWS::SQS::QueuePolicy",
    says: "each queue denies requests without TLS",
    async compare(subject) {
      const [queue] = z.array(z.unknown()).parse(subject.properties["Queues"]);
      const policy =
        (await attributes({ ...subject, physicalId: physicalIdOf(queue, subject) }))["Policy"] ?? "{}";
      const denied = statements.parse(JSON.parse(policy)).Statement.filter(({ Effect }) => Effect === "Deny");
      return {
        wanted: [{ Bool: { "aws:SecureTransport": "false" } }],
        found: denied.map(({ Condition }) => Condition),
      };
    },
  },
  {
    type: "AWS::Lambda::Function",
    says: "runtime, architecture, memory and timeout are those of the template",
    async compare({ properties: wanted, physicalId, clients: { lambda } }) {
      const found = await lambda.send(new GetFunctionConfigurationCommand({ FunctionName: physicalId }));
      return {
        wanted: [
          wanted["Runtime"],
          wanted["Architectures"] ?? ["x86_64"],
          wanted["MemorySize"] ?? 128,
          wanted["Timeout"],
        ],
        found: [found.Runtime, found.Architectures, found.MemorySize, found.Timeout],
      };
    },
  },
  {
    type: "AWS::Lambda::Function",
    says: "no variable holds the value of any secret",
    async compare({ physicalId, clients: { lambda, secrets } }) {
      const { Environment } = await lambda.send(
        new GetFunctionConfigurationCommand({ FunctionName: physicalId }),
      );
      const values = await secretValues(secrets);
      const told = Object.entries(Environment?.Variables ?? {});
      const telling = told.filter(([, text]) => values.some((value) => text.includes(value)));
      return { wanted: [], found: telling.map(([name]) => name) };
    },
  },
  {
    type: "AWS::KMS::Key",
    says: "KMS rotates the key each year",
    async compare({ properties: wanted, physicalId, emulator }) {
      const status = await callByTarget(emulator, "kms", "TrentService.GetKeyRotationStatus", {
        KeyId: physicalId,
      });
      return {
        wanted: wanted["EnableKeyRotation"],
        found: z.object({ KeyRotationEnabled: z.boolean() }).parse(status).KeyRotationEnabled,
      };
    },
  },
  {
    type: "AWS::Lambda::EventInvokeConfig",
    says: "asynchronous invocations are not retried, and are dropped after a minute",
    async compare(subject) {
      const FunctionName = physicalIdOf(subject.properties["FunctionName"], subject);
      const Qualifier = z.string().parse(subject.properties["Qualifier"]);
      const found = await subject.clients.lambda.send(
        new GetFunctionEventInvokeConfigCommand({ FunctionName, Qualifier }),
      );
      return {
        wanted: { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 },
        found: asyncInvoke.parse(found),
      };
    },
  },
  {
    type: "AWS::Lambda::EventSourceMapping",
    says: "the mapping is enabled, with the template's batch size and maximum concurrency, and accepts partial failures",
    async compare({ properties: wanted, physicalId, clients: { lambda } }) {
      const found = await lambda.send(new GetEventSourceMappingCommand({ UUID: physicalId }));
      return {
        wanted: ["Enabled", wanted["BatchSize"], wanted["ScalingConfig"], ["ReportBatchItemFailures"]],
        found: [found.State, found.BatchSize, found.ScalingConfig, found.FunctionResponseTypes],
      };
    },
  },
  {
    type: "AWS::Events::Rule",
    says: "the tick's target is not retried, and its event is dropped after a minute",
    async compare({ physicalId, clients: { events } }) {
      const { Targets = [] } = await events.send(new ListTargetsByRuleCommand({ Rule: physicalId }));
      return {
        wanted: [{ MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 }],
        found: Targets.map(({ RetryPolicy }) => RetryPolicy),
      };
    },
  },
  {
    type: "AWS::SecretsManager::Secret",
    says: "the secret has a generated value, with a password of the requested length",
    async compare({ properties, physicalId, clients: { secrets } }) {
      const asked = z
        .object({ PasswordLength: z.number(), GenerateStringKey: z.string().optional() })
        .parse(properties["GenerateSecretString"]);
      const { SecretString = "" } = await secrets.send(new GetSecretValueCommand({ SecretId: physicalId }));
      const value =
        asked.GenerateStringKey === undefined
          ? SecretString
          : JSON.parse(SecretString)[asked.GenerateStringKey];
      return { wanted: asked.PasswordLength, found: value.length };
    },
  },
  {
    type: "AWS::Logs::LogGroup",
    says: "logs are kept for the template's retention, and not for ever",
    async compare({ properties, physicalId, emulator }) {
      const input = { logGroupNamePrefix: physicalId };
      const answer = await callByTarget(emulator, "logs", "Logs_20140328.DescribeLogGroups", input);
      const { logGroups } = z
        .object({
          logGroups: z.array(z.object({ logGroupName: z.string(), retentionInDays: z.number().optional() })),
        })
        .parse(answer);
      const found = logGroups.find(({ logGroupName }) => logGroupName === physicalId);
      return { wanted: properties["RetentionInDays"], found: found?.retentionInDays };
    },
  },
  {
    type: "AWS::CloudWatch::Alarm",
    says: "threshold, comparison, periods and the treatment of missing data are those of the template",
    async compare({ properties: wanted, physicalId, emulator }) {
      const target = "GraniteServiceVersion20100801.DescribeAlarms";
      const answer = await callByTarget(emulator, "monitoring", target, { AlarmNames: [physicalId] });
      const { MetricAlarms } = z.object({ MetricAlarms: z.array(z.looseObject({})) }).parse(answer);
      const names = ["Threshold", "ComparisonOperator", "EvaluationPeriods", "Period", "TreatMissingData"];
      return {
        wanted: [names.map((name) => wanted[name])],
        found: MetricAlarms.map((alarm) => names.map((name) => alarm[name])),
      };
    },
  },
  {
    type: "AWS::IAM::Policy",
    says: "the role has the actions of the template's statements, and no others",
    async compare(subject) {
      const [role] = z.array(z.unknown()).parse(subject.properties["Roles"]);
      const xml = await callByQuery(subject.emulator, "iam", "2010-05-08", {
        Action: "GetRolePolicy",
        RoleName: physicalIdOf(role, subject),
        PolicyName: z.string().parse(subject.properties["PolicyName"]),
      });
      const [document = ""] = elements(xml, "PolicyDocument");
      return {
        wanted: actionsOf(subject.properties["PolicyDocument"]),
        found: actionsOf(JSON.parse(decodeURIComponent(document))),
      };
    },
  },
];

function actionsOf(document: unknown): unknown[] {
  return statements.parse(document).Statement.map(({ Effect, Action }) => [Effect, Action]);
}

/**
 * The texts of all secrets, and the passwords in those that are JSON. Short words, such as user
 * names, are left out.
 */
async function secretValues(secrets: SecretsManagerClient): Promise<string[]> {
  const { SecretList = [] } = await secrets.send(new ListSecretsCommand({ MaxResults: 100 }));
  const texts = await Promise.all(
    SecretList.map(
      async ({ ARN }) =>
        (await secrets.send(new GetSecretValueCommand({ SecretId: ARN }))).SecretString ?? "",
    ),
  );
  return texts.flatMap((text) => [text, ...passwordIn(text)]).filter((value) => value !== "");
}

function passwordIn(text: string): string[] {
  if (!text.startsWith("{")) return [];
  return [z.object({ password: z.string() }).parse(JSON.parse(text)).password];
}
