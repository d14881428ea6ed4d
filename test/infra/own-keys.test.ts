import { expect, test } from "vitest";
import { z } from "zod";
import { idIn, type Synthesised, synthesised } from "./synthesised.ts";

const keyArn = (digit: string) =>
  `arn:aws:kms:eu-central-1:123456789012:key/${digit.repeat(8)}-0000-0000-0000-000000000000`;
const keys = {
  databaseKeyArn: keyArn("1"),
  queueKeyArn: keyArn("2"),
  secretKeyArn: keyArn("3"),
  logKeyArn: keyArn("4"),
};

const properties = (stack: Synthesised, type: string) =>
  stack.ofType(type).map(([, { Properties }]) => Properties);

const statements = z.array(
  z.object({
    Action: z.union([z.array(z.string()), z.string().transform((one) => [one])]),
    Resource: z.unknown(),
  }),
);

/** The actions on resources that a text names, for each role. */
function actionsOn(stack: Synthesised, isOn: (resource: string) => boolean): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const { Roles, PolicyDocument } of properties(stack, "AWS::IAM::Policy")) {
    const role = idIn(z.array(z.unknown()).parse(Roles)[0]).replace(/(Function)?Role[0-9A-F]{8}$/, "");
    for (const { Action, Resource } of statements.parse(Object(PolicyDocument).Statement)) {
      if (!isOn(JSON.stringify(Resource))) continue;
      found.set(role, new Set([...(found.get(role) ?? []), ...Action]));
    }
  }
  return found;
}

test("With keys of its own a deployment encrypts its database, queues, secrets and logs by them", () => {
  const stack = synthesised({ ...keys, apiKind: "rest", databaseProxy: true });
  expect(properties(stack, "AWS::RDS::DBInstance")).toMatchObject([
    {
      StorageEncrypted: true,
      KmsKeyId: keyArn("1"),
      MasterUserSecret: { KmsKeyId: keyArn("3") },
    },
  ]);
  const encrypted: [type: string, property: string, key: string, atLeast: number][] = [
    ["AWS::SQS::Queue", "KmsMasterKeyId", keyArn("2"), 7],
    ["AWS::SecretsManager::Secret", "KmsKeyId", keyArn("3"), 1],
    ["AWS::Logs::LogGroup", "KmsKeyId", keyArn("4"), 10],
  ];
  for (const [type, property, key, atLeast] of encrypted) {
    const all = properties(stack, type);
    expect(all.length, type).toBeGreaterThanOrEqual(atLeast);
    expect(new Set(all.map((each) => each[property])), type).toEqual(new Set([key]));
  }
});

test("An Aurora cluster, and the passwords of an external database, are encrypted by the keys as well", () => {
  const [cluster] = properties(synthesised({ ...keys, database: "aurora" }), "AWS::RDS::DBCluster");
  expect(cluster).toMatchObject({
    KmsKeyId: keyArn("1"),
    MasterUserSecret: { KmsKeyId: keyArn("3") },
  });
  const { databaseKeyArn: _, ...others } = keys;
  const external = synthesised({
    ...others,
    database: "external",
    databaseHost: "db.example.com",
    databaseSecretArn: "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop/master-AbCdEf",
    databaseMaxConnections: 200,
    functionsInVpc: false,
  });
  const secrets = properties(external, "AWS::SecretsManager::Secret");
  expect(secrets).toHaveLength(7);
  for (const { KmsKeyId } of secrets) expect(KmsKeyId).toBe(keyArn("3"));
  const reading = actionsOn(external, (resource) => resource.includes(keyArn("3")));
  for (const role of ["Tick", "FastWorker", "SlowWorker", "Api", "Ingest", "Migration"])
    expect(reading.get(role), role).toEqual(new Set(["kms:Decrypt"]));
});

test("Each function that uses a queue may use its key as far as it needs, and no other function may", () => {
  const stack = synthesised(keys);
  const own = /"(Fast|Slow|Ingest)\w*(Queue|DeadLetters)[0-9A-F]{8}"|"CanaryArrivals/;
  const ofQueues = actionsOn(stack, (resource) => own.test(resource));
  const ofKey = actionsOn(stack, (resource) => resource.includes(keyArn("2")));
  expect([...ofKey.keys()].toSorted()).toEqual([...ofQueues.keys()].toSorted());
  for (const [role, actions] of ofQueues) {
    const sends = actions.has("sqs:SendMessage") ? ["kms:GenerateDataKey"] : [];
    expect(ofKey.get(role), role).toEqual(new Set([...sends, "kms:Decrypt"]));
  }
});

test("Only the migration may use the key of the secrets, and no function the keys of database and logs", () => {
  const stack = synthesised(keys);
  const using = (key: string) => [...actionsOn(stack, (resource) => resource.includes(key)).keys()];
  expect(using(keyArn("3"))).toEqual(["Migration"]);
  expect([...using(keyArn("1")), ...using(keyArn("4"))]).toEqual([]);
});

test("Without keys of its own a deployment names none but that of the webhooks' credentials", () => {
  const { template } = synthesised();
  expect(JSON.stringify(template.toJSON())).not.toMatch(/KmsKeyId|KmsMasterKeyId/);
});

test.each([
  [{ queueKeyArn: "alias/own" }, "queueKeyArn: it takes the ARN of a key of KMS, not of an alias"],
  [
    { logKeyArn: "arn:aws:kms:eu-central-1:123456789012:alias/own" },
    "logKeyArn: it takes the ARN of a key of KMS, not of an alias",
  ],
  [
    { database: "external", databaseKeyArn: keyArn("1") },
    "databaseKeyArn: it is only for database rds or aurora",
  ],
])("A key that could have no effect is refused: %j", (settings, message) => {
  expect(() => synthesised(settings)).toThrow(message);
});
