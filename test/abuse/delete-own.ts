import { type Ground, ownPrefix } from "./attack.ts";

interface Part {
  cursor: string | null;
}

/** Deletes every schedule of the attacker, so that the next attack begins without them. */
export async function deleteOwn({ caller, tokens }: Pick<Ground, "caller" | "tokens">): Promise<void> {
  await bulk({ caller, tokens }, "delete", { filter: { prefix: ownPrefix } });
}

/** A bulk action, part by part to its end. */
export async function bulk(
  { caller, tokens }: Pick<Ground, "caller" | "tokens">,
  action: string,
  body: object,
): Promise<void> {
  for (let query = ""; ; ) {
    const part = (await caller.json("POST", `/v1/schedules:${action}${query}`, {
      token: tokens.write,
      body,
    })) as Part | undefined;
    if (part === undefined || part.cursor === null || part.cursor === undefined) return;
    query = `?cursor=${encodeURIComponent(part.cursor)}`;
  }
}
