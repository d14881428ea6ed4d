import { z } from "zod";
import { textList, textOrToken, wholeNumber, yesOrNo } from "./shapes.ts";

function capacityUnits(min: number) {
  const takes = `it takes a number of capacity units from ${min} to 256, in halves`;
  return z.coerce.number(takes).multipleOf(0.5, takes).min(min, takes).max(256, takes);
}

/** The database. */
export const databaseSettings = {
  /**
   * The kind of database: rds makes an RDS instance, aurora an Aurora Serverless v2 cluster;
   * existing uses an existing RDS instance; external uses any other Postgres, with passwords.
   */
  database: z
    .enum(["rds", "aurora", "existing", "external"], "it takes rds, aurora, existing or external")
    .default("rds"),
  /**
   * The RDS instance class, without its "db." prefix. Its memory has to hold the connections of the
   * functions: a t4g.micro, with 1 GiB, does so only with a few functions at once.
   */
  databaseClass: z
    .string()
    .regex(/^[a-z0-9]+\.[a-z0-9]+$/, 'it takes an instance class such as "t4g.small"')
    .default("t4g.small"),
  /**
   * The smallest number of capacity units of an Aurora cluster, of about 2 GiB each. Zero would
   * save nothing: the tick queries each minute, so the cluster would never pause.
   */
  databaseCapacityMin: capacityUnits(0.5).default(0.5),
  /**
   * The largest number of capacity units of an Aurora cluster; with a standby, each of the two has
   * its own.
   */
  databaseCapacityMax: capacityUnits(1).default(4),
  /**
   * Whether functions connect through RDS Proxy, so that more functions can run at once than the
   * database has connections.
   */
  databaseProxy: yesOrNo().default(false),
  /**
   * Whether functions prepare their statements by name and keep the plans, which halves the time of
   * a request. Default: yes, except with `databaseProxy`, whose connections it would pin, and for
   * an external database, which may have a pooler in front that loses the names.
   */
  databasePrepare: yesOrNo().optional(),
  /**
   * How many connections the database accepts. Default: 100 for each GiB of its memory, for an
   * Aurora cluster at its largest. An existing or external database needs the number that it accepts
   * (`show max_connections`). A change of this setting alone takes effect at the next restart of the database.
   */
  databaseMaxConnections: wholeNumber(50, 20_000).optional(),
  /** The initial storage in GiB; it grows automatically to five times this size. */
  databaseStorageGiB: wholeNumber(20, 10_000).default(20),
  /**
   * Whether RDS exports the logs of the database to CloudWatch: those of Postgres, and the reasons of
   * logins that IAM refused. RDS makes their log groups, which [never
   * expire](observability.md#logs-of-the-database) until you set it.
   */
  databaseLogs: yesOrNo().default(true),
  /** How many days of backups are kept. */
  databaseBackupDays: wholeNumber(1, 35).default(7),
  /**
   * The region that gets a copy of the backups of an RDS instance, for the loss of a whole region.
   * Default: none; all backups are in the deployment's region.
   */
  databaseBackupRegion: textOrToken(/^[a-z]{2,3}(-[a-z]+)+-\d$/, "it takes the name of a region").optional(),
  /** The key, in that region, that encrypts the copy of the backups. */
  databaseBackupRegionKeyArn: textOrToken(
    /^arn:[\w-]+:kms:[\w-]+:\d{12}:key\/[\w-]{1,64}$/,
    "it takes the ARN of a key, and not that of an alias",
  ).optional(),
  /**
   * The snapshot that the database is [restored](restore.md) from: its name, or
   * its ARN. Keep it afterwards: without it, or with another one, a deployment makes a new database.
   */
  databaseSnapshot: textOrToken(
    /^(arn:[\w-]+:rds:[\w-]+:\d{12}:(cluster-)?snapshot:)?([a-z]+:)?[A-Za-z][A-Za-z0-9-]{0,254}$/,
    "it takes the name or the ARN of a snapshot",
  ).optional(),
  /**
   * The database whose automated backups the database is
   * [restored](restore.md) from: the resource id of an RDS instance (`db-…`) or
   * of an Aurora cluster (`cluster-…`), or the ARN of an instance's backups in this region, as a copy
   * from another region has. Keep it afterwards, as `databaseSnapshot`.
   */
  databaseRestoredFrom: textOrToken(
    /^((db|cluster)-[A-Z0-9]{26}|arn:[\w-]+:rds:[\w-]+:\d{12}:auto-backup:ab-[a-z0-9]+)$/i,
    "it takes a whole resource id, such as db-ABCDEFGHIJKLMNOPQRSTUVWXYZ or cluster-ABCDEFGHIJKLMNOPQRSTUVWXYZ, or the ARN of automated backups",
  ).optional(),
  /**
   * With `databaseRestoredFrom`: the instant that the database is restored to, such as
   * `2026-11-30T09:15:00Z`, or latest for the last one that the backups have.
   */
  databaseRestoreTime: textOrToken(
    z.literal("latest").or(z.iso.datetime()),
    "it takes an instant such as 2026-11-30T09:15:00Z, or latest",
  ).default("latest"),
  /**
   * Whether a deployment may name another database that has no tables of Carillon. Without it, such a
   * deployment fails, because it would leave all schedules behind.
   */
  databaseMayBeEmpty: yesOrNo().default(false),
  /** Whether the database is protected from deletion. */
  databaseProtected: yesOrNo().default(true),
  /** For an existing or external database: its host. */
  databaseHost: textOrToken(
    /^[\w-]+(\.[\w-]+)*$/,
    "it takes the name or the IPv4 address of a host",
  ).optional(),
  /** For an existing or external database: its port. */
  databasePort: wholeNumber(1, 65_535).default(5432),
  /**
   * For an existing or external database: its name on the server. A server has room for only one
   * Carillon, because all databases of a server share its roles.
   */
  databaseName: textOrToken(/^[a-z_][a-z0-9_]{0,62}$/, "it takes the name of a database").default("carillon"),
  /**
   * For an existing or external database: the secret with the username and password of the owner,
   * which may create roles; encrypted under the key aws/secretsmanager or `secretKeyArn`. Only migrations
   * read it.
   */
  databaseSecretArn: textOrToken(
    /^arn:[\w-]+:secretsmanager:[\w-]+:\d{12}:secret:[\w/+=.@!-]+-\w{6}$/,
    "it takes the whole ARN of a secret, with the six characters at its end",
  ).optional(),
  /** For an existing database: the instance's identifier, which its metrics are found by. */
  databaseInstanceId: textOrToken(
    /^[a-z][a-z0-9-]{0,62}$/,
    "it takes the identifier of an RDS instance",
  ).optional(),
  /**
   * For an existing database: the instance's resource id, which IAM policies name. IAM
   * authentication must be enabled.
   */
  databaseResourceId: textOrToken(
    /^db-[A-Z0-9]{26}$/,
    "it takes the whole resource id of an RDS instance, such as db-ABCDEFGHIJKLMNOPQRSTUVWXYZ; an Aurora cluster is restored with database aurora and databaseRestoredFrom",
  ).optional(),
  /** For an existing database: its security group, which gets a rule that admits the functions. */
  databaseSecurityGroupId: textOrToken(
    /^sg-[0-9a-f]{8,17}$/,
    "it takes the id of a security group, such as sg-0123456789abcdef0",
  ).optional(),
  /**
   * For an external database: its networks. Functions in a VPC can connect only to these, at the
   * database's port.
   */
  databaseNetworks: textList(
    textOrToken(z.cidrv4(), "it takes networks such as 10.20.0.0/16, separated by commas"),
    "unite some of them",
  ),
  /**
   * For an external database: increase it and deploy to give the functions' users new passwords.
   * No function loses access meanwhile.
   */
  databasePasswords: wholeNumber(1, 1_000_000).default(1),
  /**
   * For an external database: verify its certificate, or off for no TLS at all. Use off only for a
   * server on the same machine, such as the Postgres beside LocalStack.
   */
  databaseTls: z.enum(["verify", "off"], "it takes verify or off").default("verify"),
  /**
   * For an external database: a PEM file with the one root certificate to trust. Default: the roots
   * that Node trusts.
   */
  databaseCaFile: z
    .string()
    .regex(/^.{1,1000}\.(pem|crt|cer)$/, "it takes the path of a file that ends in .pem, .crt or .cer")
    .optional(),
};
