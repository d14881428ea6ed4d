import path from "node:path";
import { z } from "zod";

const resource = z.looseObject({
  Type: z.string(),
  Properties: z.record(z.string(), z.unknown()).default({}),
  DependsOn: z.union([z.array(z.string()), z.string().transform((one) => [one])]).optional(),
});
export const templateShape = z.looseObject({ Resources: z.record(z.string(), resource) });
export type Template = z.output<typeof templateShape>;
type Resource = z.output<typeof resource>;

/**
 * A feature that this emulator lacks, and its treatment. Each is a gap of the emulator, not of the
 * stack.
 */
export interface Gap {
  readonly what: string;
  readonly treatment: string;
  readonly leavesOut?: (resource: Resource) => boolean;
}

const ofType = (type: string) => (resource: Resource) => resource.Type === type;

const always: readonly Gap[] = [
  {
    what: "CloudWatch alarms on more than one metric (`Metrics`)",
    treatment: "left out",
    leavesOut: ({ Type, Properties }) => Type === "AWS::CloudWatch::Alarm" && "Metrics" in Properties,
  },
  {
    what: "`AWS::EC2::SecurityGroupIngress`",
    treatment: "left out",
    leavesOut: ofType("AWS::EC2::SecurityGroupIngress"),
  },
  {
    what: "`AWS::EC2::SecurityGroupEgress`",
    treatment: "left out",
    leavesOut: ofType("AWS::EC2::SecurityGroupEgress"),
  },
  {
    what: "`ExcludePunctuation` of a generated secret",
    treatment: "only the length of the generated password is compared",
  },
  {
    what: "`AWS::CDK::Metadata`, with which AWS counts uses of the CDK",
    treatment: "the emulator ignores it",
  },
  {
    what: "Functions' code in `/var/task`: it is in a temporary folder",
    treatment: "`MIGRATIONS_DIRECTORY` names the repository's `migrations/`, the same files",
  },
];

/**
 * In Lambda the code is in /var/task. In the emulator it is in a temporary folder, and the
 * migrations are in the repository.
 */
const taskMigrations = "/var/task/migrations";
const migrations = path.join(import.meta.dirname, "..", "..", "migrations");

const standInSecret = "arn:aws:secretsmanager:us-east-1:000000000000:secret:rds!db-stand-in-AbCdEf";

/** Further gaps with an emulated RDS, of which the emulator has only the API, without Docker. */
const ofRds: readonly Gap[] = [
  {
    what: "RDS's managed secret (`MasterUserSecret.SecretArn`)",
    treatment: "the ARN of a missing secret replaces it",
  },
  {
    what: "A Postgres behind the RDS instance, which the emulator would start with Docker",
    treatment: "the migration, which would connect to it, is left out; the second deployment runs it",
    leavesOut: ofType("Custom::CarillonMigration"),
  },
];

export const gapsOf = (database: "rds" | "external") => (database === "rds" ? [...always, ...ofRds] : always);

export interface Given {
  readonly template: Template;
  /** The logical ids of resources that were left out. */
  readonly leftOut: readonly string[];
}

/**
 * The template as this emulator accepts it. Any other resource that it refuses fails the
 * deployment.
 */
export function withoutGaps(template: Template, gaps: readonly Gap[]): Given {
  const leftOut = Object.entries(template.Resources)
    .filter(([, each]) => gaps.some(({ leavesOut }) => leavesOut?.(each)))
    .map(([id]) => id);
  const kept = Object.entries(template.Resources)
    .filter(([id]) => !leftOut.includes(id))
    .map(([id, { DependsOn, ...each }]): [string, unknown] => [
      id,
      { ...each, ...(DependsOn && { DependsOn: DependsOn.filter((other) => !leftOut.includes(other)) }) },
    ]);
  const resources = JSON.parse(JSON.stringify(Object.fromEntries(kept)), (_key, value: unknown) => {
    if (value === taskMigrations) return migrations;
    return isManagedSecret(value) ? standInSecret : value;
  });
  return { template: templateShape.parse({ ...template, Resources: resources }), leftOut };
}

const managedSecret = z.object({
  "Fn::GetAtt": z.tuple([z.string(), z.literal("MasterUserSecret.SecretArn")]),
});

function isManagedSecret(value: unknown): boolean {
  return managedSecret.safeParse(value).success;
}
