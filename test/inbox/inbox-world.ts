import { acceptanceOf } from "../../lib/command/acceptance.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { functionRoles } from "../support/role-logins.ts";
import { type CallerLogin, callerLogin } from "./callers.ts";

export const acceptance = acceptanceOf({
  handlers: [{ name: "greet", schema: null }],
  targets: {
    region: "local",
    account: "000000000000",
    queues: null,
    buses: null,
    sources: ["carillon"],
    functions: null,
    webhooks: { allowed: new Set(), denied: [] },
    prefixes: [],
  },
});

export interface InboxWorld extends Carillon {
  caller: CallerLogin;
  /** The number of waiting commands, by the owner's view. */
  waiting(): Promise<number>;
  refused(): Promise<{ id: string; key: string | null; problem: string }[]>;
}

/**
 * A Carillon whose tick applies the inbox with the rights of production, and a caller that shares
 * its database.
 */
export async function inboxWorld(): Promise<InboxWorld> {
  const world = await carillon({ roles: functionRoles });
  world.more.tick = { acceptance };
  const caller = await callerLogin(world.sql, world.databaseUrl);
  return Object.assign(world, {
    caller,
    waiting: async () => {
      const [row] = await world.sql<{ n: number }[]>`select count(*)::int as n from carillon.inbox`;
      return row?.n ?? 0;
    },
    refused: () =>
      world.sql<{ id: string; key: string | null; problem: string }[]>`
        select id, key, problem from carillon.inbox_refusals order by id`,
    stop: stopBoth(world.stop, caller),
  });
}

function stopBoth(stop: () => Promise<void>, { sql }: CallerLogin): () => Promise<void> {
  return async () => {
    await sql.end();
    await stop();
  };
}
