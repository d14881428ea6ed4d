import type { Settings } from "../../../settings.ts";
import type { TemplateParameter } from "../parameter.ts";

const group = "Database";

const isInstance = ({ database }: Settings) => database === "rds";
const isOwn = ({ database }: Settings) => database === "rds" || database === "aurora";

export const databaseParameters: readonly TemplateParameter[] = [
  {
    name: "HighlyAvailable",
    group,
    setting: "highlyAvailable",
    description:
      "Whether the database has a standby and the endpoints are in two zones. Both then cost twice as much.",
    byDefault: "false",
    values: { kind: "flag" },
  },
  {
    name: "DatabaseClass",
    group,
    setting: "databaseClass",
    description:
      "The RDS instance class, without its prefix db. The concurrency must fit its connections, of which it has 100 for each GiB of memory, and the memory itself.",
    byDefault: "t4g.small",
    onlyWith: isInstance,
    values: {
      kind: "choice",
      // The other parameters are learned with the first class, so its connections must fit any concurrency.
      learned: [
        ...["r7g.2xlarge", "r7g.xlarge", "r7g.large", "m7g.2xlarge", "m7g.xlarge", "m7g.large"],
        // A smaller one has no memory for the API's default number of requests.
        ...["t4g.large", "t4g.medium", "t4g.small"],
      ],
    },
  },
  {
    name: "DatabaseStorageGiB",
    group,
    setting: "databaseStorageGiB",
    description: "The initial storage in GiB; it grows automatically to five times this size.",
    byDefault: "20",
    onlyWith: isInstance,
    values: { kind: "choice", learned: ["20", "50", "100", "200", "400", "800", "1600"] },
  },
  {
    name: "DatabaseBackupDays",
    group,
    setting: "databaseBackupDays",
    description: "How many days of backups are kept.",
    byDefault: "7",
    onlyWith: isOwn,
    values: {
      kind: "text",
      learned: ["7", "35"],
      pattern: "[1-9]|[12][0-9]|3[0-5]",
      takes: "a whole number from 1 to 35",
    },
  },
  {
    name: "DatabaseSnapshot",
    group,
    setting: "databaseSnapshot",
    description:
      "The snapshot that the database is restored from: its name. Keep it afterwards: without it, or with another one, an update makes a new database. Empty: the database is made empty.",
    byDefault: "",
    onlyWith: isOwn,
    values: {
      kind: "text",
      learned: ["one", "two"],
      pattern: "([a-z]+:)?[a-zA-Z][a-zA-Z0-9-]{0,254}",
      takes: "the name of a snapshot, or nothing",
    },
  },
  {
    name: "DatabaseMayBeEmpty",
    group,
    setting: "databaseMayBeEmpty",
    description: "Whether an update may name another database that has no tables of Carillon.",
    byDefault: "false",
    values: { kind: "flag" },
  },
  {
    name: "DatabaseProtected",
    group,
    setting: "databaseProtected",
    description: "Whether the database is protected from deletion.",
    byDefault: "true",
    onlyWith: isOwn,
    values: { kind: "flag" },
  },
];
