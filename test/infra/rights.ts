import { z } from "zod";
import { idIn, type Synthesised } from "./synthesised.ts";

// The rights that docs/security.md lists: those that the template of a deployment with default
// settings grants.

const texts = z.union([z.array(z.string()), z.string().transform((one) => [one])]);
const list = z.union([z.array(z.unknown()), z.unknown().transform((one) => [one])]);
const statement = z.object({
  Effect: z.enum(["Allow", "Deny"]),
  Principal: z.unknown().optional(),
  Action: texts,
  Resource: list.default([]),
  Condition: z.record(z.string(), z.unknown()).default({}),
});
type Statement = z.infer<typeof statement>;
const document = z.object({ Statement: z.array(statement) });

/** The reason for each right. A new right needs its reason here before the page can be written. */
const reasons: readonly [RegExp, string][] = [
  [/^logs:.* on \w+Logs$/, "writes its own log"],
  [/^ec2:.* on \*$/, "is attached to the network by Lambda; an interface has no ARN before it exists"],
  [/^rds-db:connect on /, "logs in, as this role of the database and no other"],
  [/^secretsmanager:.* on Database/, "migrates as the owner of everything"],
  [/^secretsmanager:.* on MigrationAdminToken$/, "keeps the first token's hash in the database"],
  [/^sqs:(Send|Get).* on (Fast|Slow)Queue$/, "sends parcels, after the transaction that made them"],
  [/^sqs:(Receive|Change|Delete|Get).* on \w+Queue$/, "receives messages through Lambda's event source"],
  [/^sqs:.* on IngestDeadLetters$/, "sets aside commands that are refused for good"],
  [/^sqs:.* on sqs:carillon-target-/, "delivers to queues that schedules may name: targetQueueArns"],
  [
    /^events:PutEvents on events:.* if .*detail-type/,
    "publishes events of jobs to the bus, as Carillon: lifecycleEvents",
  ],
  [
    /^events:PutEvents on events:/,
    "delivers to buses that schedules may name, with the allowed sources: targetBusArns, targetEventSources",
  ],
  [
    /^lambda:InvokeFunction on lambda:function:carillon-target-/,
    "invokes functions that schedules may name: targetFunctionArns",
  ],
  [
    /^lambda:InvokeFunction on WebhookSenderFunction$/,
    "invokes the sender of webhooks, the one function that reaches the internet and opens credentials",
  ],
  [/^kms:.* on WebhookSenderKey if /, "makes and opens the keys of webhook credentials, and nothing else"],
  [
    /^lambda:\w+ on MigrationFunction/,
    "is the CDK's framework for custom resources, and invokes the migration",
  ],
  [/^sqs:.* on CanaryArrivals$/, "sends the canary to its queue"],
  [
    /^states:StartExecution on MigrationProvider/,
    "is the CDK's framework for custom resources, and waits for a long migration",
  ],
  [
    /^lambda:\w+ on MigrationProvider/,
    "is the CDK's framework for custom resources, and checks whether the migration is done",
  ],
];

/** A row for each right, with the role that has it. */
export function rightsTable(stack: Synthesised): string {
  const rows = [...ofRoles(stack)].flatMap(({ who, rights }) =>
    rights.flatMap(ofStatement).map((right) => `| ${who} | ${right} |`),
  );
  return ["| who | may | on | because it |", "|---|---|---|---|", ...new Set(rows.toSorted())].join("\n");
}

function ofStatement({ Action, Resource, Condition }: Statement): string[] {
  const { Null: _, ...compared } = Condition;
  const told = Object.values(compared).map((each) =>
    shown(
      Object.entries(Object(each))
        .map(([key, value]) => `${key} ${[value].flat().map(shown).join(" or ")}`)
        .join(", "),
    ),
  );
  const only = told.length === 0 ? "" : ` if ${told.join(", ")}`;
  return Resource.map((resource) => {
    const on = shown(resource);
    const actions = [...Action].sort().join(" ");
    const right = `${actions} on ${on}${only}`;
    const reason = reasons.find(([pattern]) => pattern.test(right));
    if (reason === undefined)
      throw new Error(`No reason is given for the right ${right}. Add one in test/infra/rights.ts.`);
    return `\`${actions}\` | \`${on}\`${only} | ${reason[1]}`;
  });
}

function* ofRoles(stack: Synthesised): Generator<{ who: string; rights: Statement[] }> {
  for (const [role, { Properties }] of stack.ofType("AWS::IAM::Role")) {
    const inline = z
      .array(z.object({ PolicyDocument: document }))
      .default([])
      .parse(Properties["Policies"]);
    const attached = stack
      .ofType("AWS::IAM::Policy")
      .filter(([, policy]) =>
        z
          .array(z.unknown())
          .parse(policy.Properties["Roles"])
          .some((each) => idIn(each) === role),
      )
      .map(([, policy]) => document.parse(policy.Properties["PolicyDocument"]));
    yield {
      who: withoutHash(role).replace(/(Function)?Role$/, ""),
      rights: [...inline.map(({ PolicyDocument }) => PolicyDocument), ...attached].flatMap(
        ({ Statement }) => Statement,
      ),
    };
  }
}

/**
 * The principals outside of Carillon's roles that may invoke a function or send to a queue, and the
 * requests that are denied to all.
 */
export function resourcePoliciesTable(stack: Synthesised): string {
  const permissions = stack.ofType("AWS::Lambda::Permission").map(([, { Properties }]) => {
    const from = Properties["SourceArn"] === undefined ? "" : `, for ${shown(Properties["SourceArn"])} alone`;
    return `| ${withoutHash(idIn(Properties["FunctionName"]))} | \`${Properties["Principal"]}\` may \`${Properties["Action"]}\`${from} |`;
  });
  const queues = stack.ofType("AWS::SQS::QueuePolicy").map(([, { Properties }]) => {
    const rules = document
      .parse(Properties["PolicyDocument"])
      .Statement.map(
        ({ Effect, Action, Condition }) =>
          `${Effect === "Deny" ? "no principal" : "the named principal"} may \`${Action.join(" ")}\` if ${shown(JSON.stringify(Condition)).replaceAll(/[{}"]/g, "")}`,
      );
    return `| ${z.array(z.unknown()).parse(Properties["Queues"]).map(idIn).map(withoutHash).join(", ")} | ${rules.join("; ")} |`;
  });
  return ["| what | who |", "|---|---|", ...[...permissions, ...queues].toSorted()].join("\n");
}

function shown(value: unknown): string {
  return flat(value)
    .replace(/^arn:‹Partition›:/, "")
    .replaceAll(/:?‹Region›:‹AccountId›:?/g, ":")
    .replaceAll("‹AccountId›", "…");
}

function flat(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  const [[kind, inside] = ["", undefined]] = Object.entries(value);
  if (kind === "Fn::Join" && Array.isArray(inside)) return inside[1].map(flat).join(inside[0]);
  if (kind === "Fn::GetAtt" && Array.isArray(inside)) {
    const [id, attribute] = inside.map(String);
    return `${withoutHash(id ?? "")}${attribute === "Arn" ? "" : `.${attribute}`}`;
  }
  if (kind === "Ref")
    return String(inside).startsWith("AWS::") ? `‹${String(inside).slice(5)}›` : withoutHash(String(inside));
  throw new Error(`${JSON.stringify(value)} is an intrinsic function that the page cannot show.`);
}

function withoutHash(id: string): string {
  return id.replace(/[0-9A-F]{8}$/, "");
}

const begins = (name: string) => `<!-- ${name} -->\n\n`;
const ends = "\n\n<!-- end -->";

/** The table of this name in a page. */
export function tableIn(page: string, name: string): string {
  const [, after] = page.split(begins(name));
  if (after === undefined) throw new Error(`The page has no ${begins(name).trim()}.`);
  return after.slice(0, after.indexOf(ends));
}

export function withTable(page: string, name: string, table: string): string {
  return page.replace(`${begins(name)}${tableIn(page, name)}${ends}`, () => `${begins(name)}${table}${ends}`);
}
