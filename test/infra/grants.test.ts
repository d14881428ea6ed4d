import { readFileSync } from "node:fs";
import { Match } from "aws-cdk-lib/assertions";
import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { resourcePoliciesTable, rightsTable, tableIn } from "./rights.ts";
import { idIn, type Synthesised, synthesised } from "./synthesised.ts";

const list = z.union([z.array(z.unknown()), z.unknown().transform((one) => [one])]);
const statement = z.object({
  Effect: z.enum(["Allow", "Deny"]),
  Action: z.union([z.array(z.string()), z.string().transform((one) => [one])]),
  Resource: list,
  Condition: z.unknown().optional(),
});
type Statement = z.infer<typeof statement>;
const document = z.object({ Statement: z.array(statement) });

let stack: Synthesised;
beforeAll(() => {
  stack = synthesised();
});

/** Every statement of every role, with its function or provider. */
function granted(from: Synthesised): { to: string; statement: Statement }[] {
  const inline = from.ofType("AWS::IAM::Role").flatMap(([id, { Properties }]) =>
    z
      .array(z.object({ PolicyDocument: document }))
      .default([])
      .parse(Properties["Policies"])
      .flatMap(({ PolicyDocument }) => PolicyDocument.Statement.map((each) => ({ to: id, statement: each }))),
  );
  const attached = from.ofType("AWS::IAM::Policy").flatMap(([, { Properties }]) => {
    const [to] = z.array(z.unknown()).parse(Properties["Roles"]).map(idIn);
    return document
      .parse(Properties["PolicyDocument"])
      .Statement.map((each) => ({ to: to ?? "nobody", statement: each }));
  });
  return [...inline, ...attached].map(({ to, statement: each }) => ({
    to: to.replace(/(Function)?Role[0-9A-F]{8}$/, ""),
    statement: each,
  }));
}

/** The roles with this action without a condition, and the resources. */
function holders(from: Synthesised, action: string): [string, string][] {
  return granted(from)
    .filter(({ statement: { Action, Condition } }) => Action.includes(action) && Condition === undefined)
    .map(({ to, statement: { Resource } }): [string, string] => [to, JSON.stringify(Resource)])
    .sort();
}

const fromCarillon = {
  "ForAllValues:StringLike": { "events:source": ["carillon"] },
  Null: { "events:source": "false" },
};

/**
 * The rights to put events: those for events of jobs are limited to types, those for schedules to
 * sources alone.
 */
function putting(from: Synthesised, kind: "events of jobs" | "schedules") {
  return granted(from)
    .filter(({ statement: { Action } }) => Action.includes("events:PutEvents"))
    .map(({ to, statement: { Resource, Condition } }) => ({ to, on: JSON.stringify(Resource), Condition }))
    .filter(
      ({ Condition }) => JSON.stringify(Condition ?? "").includes("detail-type") === (kind !== "schedules"),
    );
}

test("docs/security.md lists every right with its reason; `npm run rights` writes it", () => {
  const page = readFileSync(new URL("../../docs/security.md", import.meta.url), "utf8");
  expect(tableIn(page, "rights")).toBe(rightsTable(stack));
  expect(tableIn(page, "resource policies")).toBe(resourcePoliciesTable(stack));
});

test.each([
  [
    "developers",
    {
      "Fn::Join": [
        "",
        ["arn:", { Ref: "AWS::Partition" }, ":iam::", { Ref: "AWS::AccountId" }, ":policy/developers"],
      ],
    },
  ],
  ["arn:aws:iam::123456789012:policy/teams/developers", "arn:aws:iam::123456789012:policy/teams/developers"],
])(
  "every role has the permissions boundary %s, also those of the CDK's own functions",
  (permissionsBoundary, arn) => {
    const roles = synthesised({ permissionsBoundary, archiveBucket: "ledger", stackSchedules: true }).ofType(
      "AWS::IAM::Role",
    );
    expect(roles.map(([id]) => id)).toContainEqual(expect.stringMatching(/^MigrationProvider/));
    for (const [id, { Properties }] of roles)
      expect([id, Properties["PermissionsBoundary"]]).toEqual([id, arn]);
  },
);

test("without the setting no role has a permissions boundary, and something that is no policy is refused", () => {
  for (const [, { Properties }] of stack.ofType("AWS::IAM::Role"))
    expect(Properties).not.toHaveProperty("PermissionsBoundary");
  for (const permissionsBoundary of ["two words", "arn:aws:iam::123456789012:role/developers", ""])
    expect(() => synthesised({ permissionsBoundary })).toThrow(
      "carillon:permissionsBoundary: it takes the name",
    );
});

test("no role has a managed policy", () => {
  for (const [, { Properties }] of stack.ofType("AWS::IAM::Role")) {
    expect(Properties["ManagedPolicyArns"]).toBeUndefined();
  }
});

test("no action is granted by wildcard, and a resource is a wildcard only where the action allows no other", () => {
  const ofNetworkInterfaces =
    /^ec2:(Create|Describe|Delete|Assign|Unassign)(NetworkInterfaces?|Subnets|PrivateIpAddresses)$/;
  for (const { statement: each } of granted(stack)) {
    for (const action of each.Action) expect(action).not.toContain("*");
    if (each.Resource.includes("*")) {
      for (const action of each.Action) expect(action).toMatch(ofNetworkInterfaces);
    }
  }
});

test("each function connects to the database as its own user and as no other", () => {
  const users = holders(stack, "rds-db:connect").map(([to, on]) => [to, /\/(\w+)"/.exec(on)?.[1]]);
  expect(users).toEqual([
    ["Api", "carillon_api"],
    ["FastWorker", "carillon_worker"],
    ["Ingest", "carillon_ingest"],
    ["SlowWorker", "carillon_handler"],
    ["Tick", "carillon_tick"],
  ]);
});

test("only the migration reads secrets: the database owner's and the first admin token's", () => {
  const readers = holders(stack, "secretsmanager:GetSecretValue");
  expect(readers.map(([to]) => to)).toEqual(["Migration"]);
  expect(readers[0]?.[1]).toMatch(/DatabaseInstance.*MasterUserSecret.*MigrationAdminToken/);
  expect(granted(stack).flatMap(({ statement: { Action } }) => Action)).not.toContain(
    "secretsmanager:PutSecretValue",
  );
});

test("each worker receives from its own queue only", () => {
  expect(holders(stack, "sqs:ReceiveMessage")).toEqual([
    ["FastWorker", expect.stringMatching(/^\[\{"Fn::GetAtt":\["FastQueue\w+","Arn"\]\}\]$/)],
    ["Ingest", expect.stringMatching(/^\[\{"Fn::GetAtt":\["IngestQueue\w+","Arn"\]\}\]$/)],
    ["SlowWorker", expect.stringMatching(/^\[\{"Fn::GetAtt":\["SlowQueue\w+","Arn"\]\}\]$/)],
  ]);
});

test("by default schedules send to queues named carillon-target-… and to the default bus, through the fast worker alone", () => {
  const elsewhere = holders(stack, "sqs:SendMessage").filter(([, on]) => !on.includes("Fn::GetAtt"));
  expect(elsewhere).toEqual([["FastWorker", expect.stringMatching(/AWS::AccountId.*":carillon-target-\*"/)]]);
  expect(putting(stack, "schedules")).toEqual([
    {
      to: "FastWorker",
      on: expect.stringMatching(/AWS::AccountId.*":event-bus\/default"/),
      Condition: fromCarillon,
    },
  ]);
});

test("only the tick and the workers publish events of jobs to the bus, as Carillon and only the events that are on", () => {
  const lifecycleBus = "shared";
  const told = (settings: Record<string, unknown>) =>
    putting(synthesised({ lifecycleBus, ...settings }), "events of jobs");
  const types = ["carillon.job.dead", "carillon.job.missed"];
  expect(told({})).toEqual(
    ["Tick", "FastWorker", "SlowWorker"].map((to) => ({
      to,
      on: expect.stringMatching(/AWS::AccountId.*":event-bus\/shared"/),
      Condition: {
        ...fromCarillon,
        StringEquals: { "events:detail-type": types },
      },
    })),
  );
  expect(told({ lifecycleEvents: "none" })).toEqual([]);
});

test("by default schedules invoke functions named carillon-target-…, through the slow worker alone, and the API invokes the webhook sender only", () => {
  const invoked = holders(stack, "lambda:InvokeFunction").filter(([to]) => !to.startsWith("Migration"));
  const two =
    /^\[\{"Fn::GetAtt":\["WebhookSenderFunction\w+","Arn"\]\},\{[^{]*(\{"Ref":"AWS::\w+"\}[^{]*)+":function:carillon-target-\*"\]\]\}\]$/;
  const sender = /^\[\{"Fn::GetAtt":\["WebhookSenderFunction\w+","Arn"\]\}\]$/;
  expect(invoked.toSorted()).toEqual([
    ["Api", expect.stringMatching(sender)],
    ["SlowWorker", expect.stringMatching(two)],
  ]);
});

test("the function that sends webhooks may write its log and use the key of their credentials, and nothing else", () => {
  const own = granted(stack).filter(({ to }) => to.startsWith("WebhookSender"));
  expect(own.map(({ statement: { Action } }) => Action)).toEqual([
    ["logs:CreateLogStream", "logs:PutLogEvents"],
    ["kms:Decrypt", "kms:GenerateDataKeyPairWithoutPlaintext"],
  ]);
  expect(JSON.stringify(own[0]?.statement.Resource)).toContain("WebhookSenderFunctionLogs");
});

test("the function that serves the page may write its log, and nothing else", () => {
  const own = granted(stack).filter(({ to }) => to.startsWith("Page"));
  expect(own.map(({ statement: { Action } }) => Action)).toEqual([
    ["logs:CreateLogStream", "logs:PutLogEvents"],
  ]);
  expect(JSON.stringify(own[0]?.statement.Resource)).toContain("PageFunctionLogs");
});

test("the function that keeps schedules of stacks may write its log and invoke the API's function, and no principal is admitted to it", () => {
  const made = synthesised({ stackSchedules: true });
  const own = granted(made).filter(({ to }) => to.startsWith("StackSchedules"));
  expect(own.map(({ statement: { Action } }) => Action)).toEqual([
    ["logs:CreateLogStream", "logs:PutLogEvents"],
    ["lambda:InvokeFunction"],
  ]);
  expect(own[1]?.statement.Resource.map(idIn)).toEqual([expect.stringMatching(/^ApiFunction/)]);
  const [[id, fn] = ["", undefined]] = made
    .ofType("AWS::Lambda::Function")
    .filter(([name]) => name.startsWith("StackSchedules"));
  expect(fn?.Properties).not.toHaveProperty("VpcConfig");
  const admitted = made
    .ofType("AWS::Lambda::Permission")
    .map(([, { Properties }]) => Properties["FunctionName"]);
  expect(admitted.map(idIn)).not.toContain(id);
});

test("without the setting stackSchedules there is no function for schedules of stacks, and no stack is a caller", () => {
  expect(JSON.stringify(stack.template.toJSON())).not.toMatch(/StackSchedules|STACK_CALLERS/);
});

test("the API gets the workers' allow-lists, so that it refuses targets that they could not deliver to", () => {
  const [queue, bus] = [
    "arn:aws:sqs:eu-central-1:123456789012:orders-*",
    "arn:aws:events:eu-central-1:123456789012:event-bus/orders",
  ];
  const functions = [
    "arn:aws:lambda:eu-central-1:123456789012:function:resize",
    "arn:aws:lambda:eu-central-1:123456789012:function:orders-*",
  ];
  const allowed = synthesised({ targetQueueArns: queue, targetBusArns: bus, targetFunctionArns: functions });
  allowed.template.hasResourceProperties("AWS::Lambda::Function", {
    Environment: {
      Variables: Match.objectLike({
        TARGET_ACCOUNT: { Ref: "AWS::AccountId" },
        TARGET_QUEUES: queue,
        TARGET_BUSES: bus,
        TARGET_FUNCTIONS: functions.join(","),
      }),
    },
  });
  // A version or an alias is a resource of its own; a name that ends in * includes them.
  const [[, invoked] = []] = holders(allowed, "lambda:InvokeFunction").filter(([to]) => to === "SlowWorker");
  for (const arn of [...functions, `${functions[0]}:*`]) expect(invoked).toContain(JSON.stringify(arn));
});

test.each([
  ["by default only carillon", {}, ["carillon"]],
  ["those of the setting", { targetEventSources: "shop.*, carillon" }, ["shop.*", "carillon"]],
])(
  "the worker may put a request of events for schedules only if all have an allowed source: %s",
  (_, settings, sources) => {
    const made = synthesised(settings);
    expect(putting(made, "schedules").map(({ to, Condition }) => [to, Condition])).toEqual([
      ["FastWorker", { ...fromCarillon, "ForAllValues:StringLike": { "events:source": sources } }],
    ]);
    const told = made
      .ofType("AWS::Lambda::Function")
      .filter(([, { Properties }]) => JSON.stringify(Properties).includes("CARILLON_TARGET_EVENT_SOURCES"))
      .map(([id, { Properties }]) => [
        id.replace(/Function.*/, ""),
        Object(Properties["Environment"]).Variables.CARILLON_TARGET_EVENT_SOURCES,
      ]);
    expect(Object.fromEntries(told)).toEqual(
      Object.fromEntries(["Api", "FastWorker", "Ingest", "Tick"].map((name) => [name, sources.join(",")])),
    );
  },
);

test("an allow-list replaces the defaults", () => {
  const queues = [
    "arn:aws:sqs:eu-central-1:123456789012:orders-*",
    "arn:aws:sqs:eu-central-1:123456789012:mail.fifo",
  ];
  const bus = "arn:aws:events:eu-central-1:123456789012:event-bus/orders";
  const allowed = synthesised({ targetQueueArns: queues.join(", "), targetBusArns: [bus] });
  const elsewhere = holders(allowed, "sqs:SendMessage").filter(([, on]) => !on.includes("Fn::GetAtt"));
  expect(elsewhere).toEqual([["FastWorker", JSON.stringify(queues.toSorted())]]);
  expect(putting(allowed, "schedules").map(({ to, on }) => [to, on])).toEqual([
    ["FastWorker", JSON.stringify([bus])],
  ]);
});
