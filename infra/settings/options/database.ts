// Written by `npm run settings` from infra/settings/database.ts; a test compares the two.

/** The database. */
export interface DatabaseOptions {
  /**
   * The kind of database: rds makes an RDS instance, aurora an Aurora Serverless v2 cluster;
   * existing uses an existing RDS instance; external uses any other Postgres, with passwords.
   *
   * @default rds
   */
  readonly database?: "rds" | "aurora" | "existing" | "external" | undefined;
  /**
   * The RDS instance class, without its "db." prefix. Its memory has to hold the connections of the
   * functions: a t4g.micro, with 1 GiB, does so only with a few functions at once.
   *
   * @default t4g.small
   */
  readonly databaseClass?: string | undefined;
  /**
   * The smallest number of capacity units of an Aurora cluster, of about 2 GiB each. Zero would save
   * nothing: the tick queries each minute, so the cluster would never pause.
   *
   * @default 0.5
   */
  readonly databaseCapacityMin?: number | undefined;
  /**
   * The largest number of capacity units of an Aurora cluster; with a standby, each of the two has
   * its own.
   *
   * @default 4
   */
  readonly databaseCapacityMax?: number | undefined;
  /**
   * Whether functions connect through RDS Proxy, so that more functions can run at once than the
   * database has connections.
   *
   * @default false
   */
  readonly databaseProxy?: boolean | undefined;
  /**
   * Whether functions prepare their statements by name and keep the plans, which halves the time of
   * a request. Default: yes, except with `databaseProxy`, whose connections it would pin, and for an
   * external database, which may have a pooler in front that loses the names.
   */
  readonly databasePrepare?: boolean | undefined;
  /**
   * How many connections the database accepts. Default: 100 for each GiB of its memory, for an
   * Aurora cluster at its largest. An existing or external database needs the number that it accepts
   * (`show max_connections`). A change of this setting alone takes effect at the next restart of the
   * database.
   */
  readonly databaseMaxConnections?: number | undefined;
  /**
   * The initial storage in GiB; it grows automatically to five times this size.
   *
   * @default 20
   */
  readonly databaseStorageGiB?: number | undefined;
  /**
   * Whether RDS exports the logs of the database to CloudWatch: those of Postgres, and the reasons
   * of logins that IAM refused. RDS makes their log groups, which [never
   * expire](observability.md#logs-of-the-database) until you set it.
   *
   * @default true
   */
  readonly databaseLogs?: boolean | undefined;
  /**
   * How many days of backups are kept.
   *
   * @default 7
   */
  readonly databaseBackupDays?: number | undefined;
  /**
   * The region that gets a copy of the backups of an RDS instance, for the loss of a whole region.
   * Default: none; all backups are in the deployment's region.
   */
  readonly databaseBackupRegion?: string | undefined;
  /** The key, in that region, that encrypts the copy of the backups. */
  readonly databaseBackupRegionKeyArn?: string | undefined;
  /**
   * The snapshot that the database is [restored](restore.md) from: its name, or its ARN. Keep it
   * afterwards: without it, or with another one, a deployment makes a new database.
   */
  readonly databaseSnapshot?: string | undefined;
  /**
   * The database whose automated backups the database is [restored](restore.md) from: the resource
   * id of an RDS instance (`db-…`) or of an Aurora cluster (`cluster-…`), or the ARN of an
   * instance's backups in this region, as a copy from another region has. Keep it afterwards, as
   * `databaseSnapshot`.
   */
  readonly databaseRestoredFrom?: string | undefined;
  /**
   * With `databaseRestoredFrom`: the instant that the database is restored to, such as
   * `2026-11-30T09:15:00Z`, or latest for the last one that the backups have.
   *
   * @default latest
   */
  readonly databaseRestoreTime?: string | undefined;
  /**
   * Whether a deployment may name another database that has no tables of Carillon. Without it, such
   * a deployment fails, because it would leave all schedules behind.
   *
   * @default false
   */
  readonly databaseMayBeEmpty?: boolean | undefined;
  /**
   * Whether the database is protected from deletion.
   *
   * @default true
   */
  readonly databaseProtected?: boolean | undefined;
  /** For an existing or external database: its host. */
  readonly databaseHost?: string | undefined;
  /**
   * For an existing or external database: its port.
   *
   * @default 5432
   */
  readonly databasePort?: number | undefined;
  /**
   * For an existing or external database: its name on the server. A server has room for only one
   * Carillon, because all databases of a server share its roles.
   *
   * @default carillon
   */
  readonly databaseName?: string | undefined;
  /**
   * For an existing or external database: the secret with the username and password of the owner,
   * which may create roles; encrypted under the key aws/secretsmanager or `secretKeyArn`. Only
   * migrations read it.
   */
  readonly databaseSecretArn?: string | undefined;
  /** For an existing database: the instance's identifier, which its metrics are found by. */
  readonly databaseInstanceId?: string | undefined;
  /**
   * For an existing database: the instance's resource id, which IAM policies name. IAM
   * authentication must be enabled.
   */
  readonly databaseResourceId?: string | undefined;
  /** For an existing database: its security group, which gets a rule that admits the functions. */
  readonly databaseSecurityGroupId?: string | undefined;
  /**
   * For an external database: its networks. Functions in a VPC can connect only to these, at the
   * database's port.
   */
  readonly databaseNetworks?: readonly string[] | undefined;
  /**
   * For an external database: increase it and deploy to give the functions' users new passwords. No
   * function loses access meanwhile.
   *
   * @default 1
   */
  readonly databasePasswords?: number | undefined;
  /**
   * For an external database: verify its certificate, or off for no TLS at all. Use off only for a
   * server on the same machine, such as the Postgres beside LocalStack.
   *
   * @default verify
   */
  readonly databaseTls?: "verify" | "off" | undefined;
  /**
   * For an external database: a PEM file with the one root certificate to trust. Default: the roots
   * that Node trusts.
   */
  readonly databaseCaFile?: string | undefined;
}
