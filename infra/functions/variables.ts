import { Stack, Token } from "aws-cdk-lib";
import { CfnFunction, type Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";

/** Every variable that a function of Carillon reads, or gets from the deployment. */
export const ownVariables = [
  ...["API_AUTH", "API_CORS_ORIGINS", "API_FUNCTION", "API_JWT_PREFIX_CLAIM", "API_JWT_PREFIX_END"],
  ...["API_JWT_SCOPE_CLAIM", "API_JWT_SCOPE_PREFIX", "API_PRINCIPALS", "API_RATE", "API_RATE_PER_PREFIX"],
  "API_REQUESTS_PER_PREFIX",
  ...["ARCHIVES", "ARCHIVE_BUCKET", "ARCHIVE_PATH_STYLE", "ARCHIVE_PREFIX", "AUDIT_RETENTION_DAYS"],
  ...["CANARY_MINUTES", "CANARY_QUEUE_URL"],
  ...["DATABASE_AUTH", "DATABASE_CA", "DATABASE_HOST", "DATABASE_NAME", "DATABASE_PORT", "DATABASE_PREPARE"],
  ...["DATABASE_PROXY", "DATABASE_ROLE_SECRET_ARNS", "DATABASE_SECRET_ARN", "DATABASE_TLS", "DATABASE_URL"],
  ...["DATABASE_USER", "FAST_QUEUE_URL", "INGEST_DEAD_QUEUE_URL", "INGEST_PREFIX", "INGEST_QUEUE_URL"],
  ...["LIFECYCLE_EVENTS", "MIGRATIONS_DIRECTORY", "NODE_EXTRA_CA_CERTS", "NODE_OPTIONS"],
  ...[
    "PAGE_CLIENT_ID",
    "PAGE_CONNECT_ORIGINS",
    "PAGE_DIRECTORY",
    "PAGE_ISSUER",
    "PAGE_LOGS_LINK",
    "PAGE_NAME",
  ],
  ...["PAGE_SCOPES", "PAGE_SIGN_IN_PARAMETERS", "REQUIRE_IF_MATCH", "RESERVED_QUEUE_URLS"],
  ...["RETENTION_DAYS", "SLOW_QUEUE_URL"],
  "STACK_CALLERS",
  ...[
    "TARGET_ACCOUNT",
    "TARGET_BUSES",
    "TARGET_FUNCTIONS",
    "TARGET_PREFIXES",
    "TARGET_QUEUES",
    "TARGET_WINDOW",
  ],
  ...["TICK_BATCH_MAX", "WEBHOOK_FUNCTION", "WEBHOOK_KEY"],
] as const;

/** The beginnings of further names, of Carillon and of Lambda itself. */
export const ownBeginnings = ["AWS_", "CARILLON_", "LAMBDA_"] as const;

/** Lambda's limit of all variables of a function together. */
const bytesMax = 4_096;

/** Lengths of values that are known only in the deployment. */
const pseudoBytes: Readonly<Record<string, number>> = {
  "AWS::AccountId": 12,
  "AWS::Partition": 10,
  "AWS::Region": 14,
  "AWS::URLSuffix": 16,
};
/** About the length of the URL or ARN of a queue, or of the address of a database. */
const referenceBytes = 125;

/** Refuses a name that Carillon or Lambda uses, and one that Lambda does not take. */
export function checkName(name: string): void {
  if (Token.isUnresolved(name) || !/^[A-Za-z]\w*$/.test(name))
    throw new Error(
      `addEnvironment: ${JSON.stringify(name)} cannot be the name of a variable; it takes letters, digits and _, and begins with a letter`,
    );
  const isOwn = (ownVariables as readonly string[]).includes(name);
  if (!isOwn && !ownBeginnings.some((beginning) => name.startsWith(beginning))) return;
  throw new Error(
    `addEnvironment: Carillon's functions use ${name} themselves; choose another name. Refused are ${ownBeginnings.map((beginning) => `${beginning}*`).join(", ")}, ${ownVariables.join(", ")}`,
  );
}

/** Refuses a variable that no longer fits beside the others of a function. */
export function checkRoom(fn: LambdaFunction, name: string, value: string): void {
  const stack = Stack.of(fn);
  const variables = { ...variablesOf(fn), [name]: stack.resolve(value) };
  const bytes = bytesOf(variables);
  if (bytes <= bytesMax) return;
  throw new Error(
    `addEnvironment: with ${name} the variables of ${fn.node.path} take about ${bytes} bytes, and Lambda takes ${bytesMax}; give handlers the name of a parameter or secret that holds the value`,
  );
}

function variablesOf(fn: LambdaFunction): Record<string, unknown> {
  const { defaultChild } = fn.node;
  if (!(defaultChild instanceof CfnFunction))
    throw new Error(
      "The functions of this CDK have another form: infra/functions/variables.ts has to follow it.",
    );
  return Stack.of(fn).resolve(defaultChild.environment)?.variables ?? {};
}

/** The bytes of a value as JSON, which is how Lambda counts variables. */
function bytesOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return Buffer.byteLength(JSON.stringify(value) ?? "");
  const [[kind, inside] = ["", undefined]] = Object.entries(value);
  if (kind === "Ref") return pseudoBytes[String(inside)] ?? referenceBytes;
  if (kind === "Fn::Join" && Array.isArray(inside)) {
    const parts: unknown[] = inside[1];
    return parts.reduce((sum: number, part) => sum + bytesOf(part), String(inside[0]).length * parts.length);
  }
  if (kind.startsWith("Fn::")) return referenceBytes;
  return Object.entries(value).reduce((sum, [name, each]) => sum + name.length + bytesOf(each) + 4, 2);
}
