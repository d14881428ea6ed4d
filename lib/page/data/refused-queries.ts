import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { Carillon } from "../../client/carillon.ts";
import type { Json } from "../../client/json.ts";
import type { Fault } from "../../client/request/problem.ts";

/** Where a refused command came from: the queue, or the SQL inbox. */
export type RefusedSource = "queue" | "inbox";

/** A refused command of either source. */
export interface RefusedCommand {
  id: string;
  key: string | null;
  refusedAt: string;
  /** When it was sent, where that is known. */
  at: string | null;
  /** The sender: a login role of the database, or a message of the queue. */
  from: string;
  why: string;
  faults: readonly Fault[];
  command: Json;
  /** False if no retry can apply it: SQL has none, and a queue does not reach every key. */
  isRetriable: boolean;
}

interface RefusedList {
  of: RefusedSource;
  prefix: string | undefined;
}

const pageLength = 50;

/** Newest first, page by page. */
export const refusedQuery = (carillon: Carillon, { of, prefix }: RefusedList) =>
  infiniteQueryOptions({
    queryKey: ["refused", of, prefix],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam: cursor, signal }): Promise<{ items: RefusedCommand[]; cursor?: string }> => {
      const params = { prefix, limit: pageLength, cursor, signal };
      if (of === "queue") {
        const page = await carillon.commands.dead(params).page();
        return { ...page, items: page.items.map(ofQueue) };
      }
      const page = await carillon.inbox.errors(params).page();
      return { ...page, items: page.items.map(ofInbox) };
    },
    getNextPageParam: (page) => page.cursor,
  });

/** One command with its payload, which lists omit. */
export const refusedCommandQuery = (carillon: Carillon, of: RefusedSource, id: string) =>
  queryOptions({
    queryKey: ["refused", of, "one", id],
    queryFn: ({ signal }) => readRefused(carillon, { of, id, signal }),
  });

interface OneRefused {
  of: RefusedSource;
  id: string;
  signal: AbortSignal;
}

export const readRefused = async (
  carillon: Carillon,
  { of, id, signal }: OneRefused,
): Promise<RefusedCommand> =>
  of === "queue"
    ? ofQueue(await carillon.commands.get(id, { signal }))
    : ofInbox(await carillon.inbox.error(id, { signal }));

type DeadCommand = Awaited<ReturnType<Carillon["commands"]["get"]>>;
type InboxError = Awaited<ReturnType<Carillon["inbox"]["error"]>>;

function ofQueue({ messageId, error, queuePrefix, ...dead }: DeadCommand): RefusedCommand {
  const { id, key, refusedAt, at, command } = dead;
  const { detail: why, errors: faults = [] } = error;
  const isRetriable = key === null || queuePrefix === null || key.startsWith(queuePrefix);
  return { id, key, refusedAt, at, from: `message ${messageId}`, why, faults, command, isRetriable };
}

function ofInbox({ id, key, refusedAt, at, caller, problem, errors, command }: InboxError): RefusedCommand {
  const told = { from: caller, why: problem, faults: errors };
  return { id, key, refusedAt, at, ...told, command, isRetriable: false };
}
