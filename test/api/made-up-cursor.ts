import { type ListName, writeCursor } from "../../lib/api/request/cursor.ts";
import { openCursor, sealCursor } from "../../lib/sealing/seal-cursor.ts";
import type { OwnApi } from "./own-api.ts";

async function keyOf({ sql }: Pick<OwnApi, "sql">): Promise<Buffer> {
  const [row] = await sql<{ key: Buffer }[]>`select key from carillon.cursor_key`;
  if (row === undefined) throw new Error("There is no key of cursors.");
  return row.key;
}

/** A cursor of a place that no page ended at, encrypted for callers of the prefix, or of all keys. */
export async function madeUpCursor(
  api: Pick<OwnApi, "sql">,
  list: ListName,
  place: string,
  prefix: string | null = null,
): Promise<string> {
  return sealCursor(await keyOf(api), prefix, writeCursor(list, place));
}

/** The list and the place in a cursor of callers of all keys. */
export async function placeOf(api: Pick<OwnApi, "sql">, cursor: string): Promise<[ListName, string]> {
  const opened = openCursor(await keyOf(api), null, cursor);
  if (opened === null) throw new Error(`${cursor} is no cursor of callers of all keys.`);
  return JSON.parse(Buffer.from(opened, "base64url").toString()) as [ListName, string];
}
