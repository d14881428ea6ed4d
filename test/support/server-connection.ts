import type { Sql } from "postgres";
import { inject } from "vitest";

let kept: Promise<Sql> | undefined;

/** The superuser's, to make and drop databases: opened once for each test file, since two of them take as long as the clone itself. */
export function serverConnection(): Promise<Sql> {
  kept ??= open();
  return kept;
}

/** The driver is loaded where it is needed: many test files have no database. */
async function open(): Promise<Sql> {
  const { default: postgres } = await import("postgres");
  return postgres(inject("postgresUrl"), { max: 1 });
}

export async function endServerConnection(): Promise<void> {
  const opened = await kept;
  kept = undefined;
  await opened?.end();
}
