import type { Sql } from "postgres";
import { inject } from "vitest";

let kept: Promise<Sql> | undefined;

/**
 * The connection of the superuser, which makes and drops databases. It is opened once for each test
 * file, since connecting twice takes as long as cloning a database.
 */
export function serverConnection(): Promise<Sql> {
  kept ??= open();
  return kept;
}

/** Loads the driver only when it is needed: many test files use no database. */
async function open(): Promise<Sql> {
  const { default: postgres } = await import("postgres");
  return postgres(inject("postgresUrl"), { max: 1 });
}

export async function endServerConnection(): Promise<void> {
  const opened = await kept;
  kept = undefined;
  await opened?.end();
}
