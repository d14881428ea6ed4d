import { z } from "zod";
import { wholeNumber, yesOrNo } from "./shapes.ts";

/** The database. */
export const databaseSettings = {
  /** The RDS instance class, without its "db." prefix. */
  databaseClass: z
    .string()
    .regex(/^[a-z0-9]+\.[a-z0-9]+$/, 'it takes an instance class such as "t4g.micro"')
    .default("t4g.micro"),
  /** How many connections the database takes. None given: 100 for each GiB of its class's memory. Changed alone, it counts from the next restart of the database. */
  databaseMaxConnections: wholeNumber(50, 20_000).optional(),
  /** The storage that the database starts with, in GiB; it grows by itself to five times this. */
  databaseStorageGiB: wholeNumber(20, 10_000).default(20),
  /** How many days of backups are kept. */
  databaseBackupDays: wholeNumber(1, 35).default(7),
  /** Whether the database refuses to be deleted. */
  databaseProtected: yesOrNo().default(true),
};
