import type { Sql } from "../db/connect.ts";

/** Reads the key once for each process. A failed read is tried again with the next cursor. */
export function keptCursorKey(sql: Sql): () => Promise<Buffer> {
  let reading: Promise<Buffer> | undefined;
  return () => {
    reading ??= readCursorKey(sql).catch((error: unknown) => {
      reading = undefined;
      throw error;
    });
    return reading;
  };
}

async function readCursorKey(sql: Sql): Promise<Buffer> {
  const [row] = await sql<{ key: Buffer }[]>`select key from carillon.cursor_key`;
  if (row === undefined) throw new Error("carillon.cursor_key has no row.");
  return row.key;
}
