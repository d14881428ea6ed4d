import { z } from "zod";
import { textList, textOrToken, wholeNumber, yesOrNo } from "./shapes.ts";

function capacityUnits(min: number) {
  const takes = `it takes a number of capacity units from ${min} to 256, in halves`;
  return z.coerce.number(takes).multipleOf(0.5, takes).min(min, takes).max(256, takes);
}

/** The database. */
export const databaseSettings = {
  /** Where it runs: rds makes an RDS instance, aurora an Aurora Serverless v2 cluster, existing takes an RDS instance that there is, external any other Postgres, by passwords. */
  database: z
    .enum(["rds", "aurora", "existing", "external"], "it takes rds, aurora, existing or external")
    .default("rds"),
  /** The RDS instance class, without its "db." prefix. */
  databaseClass: z
    .string()
    .regex(/^[a-z0-9]+\.[a-z0-9]+$/, 'it takes an instance class such as "t4g.micro"')
    .default("t4g.micro"),
  /** How many capacity units an Aurora cluster has at least, of some 2 GiB each. Nought would save nothing: the tick asks each minute, so it never pauses. */
  databaseCapacityMin: capacityUnits(0.5).default(0.5),
  /** How many capacity units an Aurora cluster has at most; with a standby, each of the two. */
  databaseCapacityMax: capacityUnits(1).default(4),
  /** Whether functions connect through RDS Proxy, by which more of them run at once than the database has connections. */
  databaseProxy: yesOrNo().default(false),
  /** Whether functions prepare their statements by name and keep the plans, by which a request takes half as long. None given: yes, but not behind `databaseProxy`, which it would pin, and not for an external database, before which a pooler may stand that loses the names. */
  databasePrepare: yesOrNo().optional(),
  /** How many connections the database takes. None given: 100 for each GiB of its memory, for an Aurora cluster at its largest. Changed alone, it counts from the next restart of the database. */
  databaseMaxConnections: wholeNumber(50, 20_000).optional(),
  /** The storage that the database starts with, in GiB; it grows by itself to five times this. */
  databaseStorageGiB: wholeNumber(20, 10_000).default(20),
  /** How many days of backups are kept. */
  databaseBackupDays: wholeNumber(1, 35).default(7),
  /** Whether the database refuses to be deleted. */
  databaseProtected: yesOrNo().default(true),
  /** Of an existing or external database: its host. */
  databaseHost: textOrToken(
    /^[\w-]+(\.[\w-]+)*$/,
    "it takes the name or the IPv4 address of a host",
  ).optional(),
  /** Of an existing or external database: its port. */
  databasePort: wholeNumber(1, 65_535).default(5432),
  /** Of an existing or external database: its name on the server; one Carillon to a server, whose roles it makes. */
  databaseName: textOrToken(/^[a-z_][a-z0-9_]{0,62}$/, "it takes the name of a database").default("carillon"),
  /** Of an existing or external database: the secret with username and password of the user who owns it and may make roles, under the key aws/secretsmanager; migrations alone read it. */
  databaseSecretArn: textOrToken(
    /^arn:[\w-]+:secretsmanager:[\w-]+:\d{12}:secret:[\w/+=.@!-]+-\w{6}$/,
    "it takes the whole ARN of a secret, with the six characters at its end",
  ).optional(),
  /** Of an existing database: the instance's identifier, by which its metrics are found. */
  databaseInstanceId: textOrToken(
    /^[a-z][a-z0-9-]{0,62}$/,
    "it takes the identifier of an RDS instance",
  ).optional(),
  /** Of an existing database: the instance's resource id, by which IAM lets functions in; IAM authentication must be on. */
  databaseResourceId: textOrToken(
    /^db-[A-Z0-9]+$/,
    "it takes the resource id of an RDS instance, such as db-ABCDEFGHIJKLMNOPQRSTUVWXYZ",
  ).optional(),
  /** Of an existing database: its security group, which gets a rule that lets the functions in. */
  databaseSecurityGroupId: textOrToken(
    /^sg-[0-9a-f]{8,17}$/,
    "it takes the id of a security group, such as sg-0123456789abcdef0",
  ).optional(),
  /** Of an external database: the networks in which it is; functions in a VPC connect to these alone, at its port. */
  databaseNetworks: textList(
    textOrToken(z.cidrv4(), "it takes networks such as 10.20.0.0/16, separated by commas"),
    "unite some of them",
  ),
  /** Of an external database: raise it, and deploy, to give the functions' users other passwords; nobody is kept out meanwhile. */
  databasePasswords: wholeNumber(1, 1_000_000).default(1),
  /** Of an external database: whether its certificate is verified, or off: no TLS at all, for a server on the same machine, such as LocalStack's neighbour. */
  databaseTls: z.enum(["verify", "off"], "it takes verify or off").default("verify"),
  /** Of an external database: the file with the one certificate, as PEM, of who alone vouches for it. None given: whom Node trusts. */
  databaseCaFile: z
    .string()
    .regex(/^.{1,1000}\.(pem|crt|cer)$/, "it takes the path of a file that ends in .pem, .crt or .cer")
    .optional(),
};
