import type { Tx } from "../db/connect.ts";

/** Whether the database is new: it has never had a token, and its audit is empty. */
export async function isUnused(tx: Tx): Promise<boolean> {
  const [found] = await tx<{ unused: boolean }[]>`
    select not exists (select from carillon.tokens) and not exists (select from carillon.audit) as unused`;
  return found?.unused === true;
}
