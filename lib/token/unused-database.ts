import type { Tx } from "../db/connect.ts";

/** Whether nobody has had a token of this database yet, and nothing was done in it: its tables were made a moment ago. */
export async function isUnused(tx: Tx): Promise<boolean> {
  const [found] = await tx<{ unused: boolean }[]>`
    select not exists (select from carillon.tokens) and not exists (select from carillon.audit) as unused`;
  return found?.unused === true;
}
