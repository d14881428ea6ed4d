import type {
  GroupContext,
  HandlerContext,
  HandlerJob,
  InTransaction,
  JobContext,
} from "./handler-context.ts";
import type { Again, Done } from "./handler-results.ts";
import type { HandlerSchema } from "./handler-schema.ts";
import {
  type HandlerSettings,
  type HandlerTraits,
  handlerTraits,
  type RecheckBounds,
  recheckBounds,
} from "./handler-traits.ts";
import { groupResults, type JobResult, singleResult } from "./read-results.ts";
import { withSignal } from "./signal-when-read.ts";

/** A handler without its types, as the worker runs it. */
export interface JobHandler extends HandlerTraits, RecheckBounds {
  /**
   * The schema of the payloads; null if the handler takes any. It is applied where payloads are read
   * (`readPayload`) and not here, so that this module is small, and needs no zod.
   */
  readonly schema: HandlerSchema<unknown> | null;
  /**
   * Runs one job, or all due jobs of a group, and returns their results in the same order. A
   * rejection is a failed attempt of each job. The payloads must come from `readPayload` with this
   * handler.
   */
  run(jobs: readonly HandlerJob<unknown>[], context: RunContext): Promise<readonly JobResult[]>;
}

export interface RunContext extends HandlerContext {
  inTransaction: InTransaction;
}

interface Definition<Payload> extends HandlerSettings {
  /**
   * The schema of the payload, made with zod 4. It is checked when a schedule names this handler, and
   * again before each run. It may fill in defaults and convert. It must be synchronous (a promise is
   * refused) and fast. Without a schema the handler gets any payload, as `unknown`.
   */
  payload?: HandlerSchema<Payload>;
}

// biome-ignore lint/suspicious/noConfusingVoidType: a handler that just ends is done
type Ending<Result> = Promise<void | Result>;

interface Single<Payload> extends Definition<Payload> {
  grouped?: false;
  transaction?: true;
  run(job: HandlerJob<Payload>, context: JobContext<Payload> & InTransaction): Ending<Again | Done>;
}

interface SingleOutside<Payload> extends Definition<Payload> {
  grouped?: false;
  /** The handler writes nothing to Carillon's database, and no transaction is open. */
  transaction: false;
  run(job: HandlerJob<Payload>, context: JobContext<Payload>): Ending<Again | Done>;
}

/**
 * The result of each job of the group, by its id. If the handler returns nothing, every job is
 * done.
 */
export type GroupResults = Iterable<readonly [jobId: string, result: JobResult]>;

interface Grouped<Payload> extends Definition<Payload> {
  /**
   * The handler gets all due jobs of a group together, and no other run of the group is under way.
   */
  grouped: true;
  transaction?: true;
  run(jobs: readonly HandlerJob<Payload>[], context: GroupContext & InTransaction): Ending<GroupResults>;
}

interface GroupedOutside<Payload> extends Definition<Payload> {
  grouped: true;
  transaction: false;
  run(jobs: readonly HandlerJob<Payload>[], context: GroupContext): Ending<GroupResults>;
}

export type JobDefinition<Payload> =
  | Single<Payload>
  | SingleOutside<Payload>
  | Grouped<Payload>
  | GroupedOutside<Payload>;

/** Defines a handler. An app exports its handlers as an array with the name `handlers`. */
export function defineJob<Payload = unknown>(definition: JobDefinition<Payload>): JobHandler {
  const { name, payload: schema = null } = definition;
  return {
    ...handlerTraits(definition),
    ...recheckBounds(definition),
    schema,
    run: async (given, context) => {
      const jobs = given as readonly HandlerJob<Payload>[];
      if (definition.grouped === true) {
        // The results have the order of these ids, even if the handler changes its list.
        const ids = jobs.map(({ id }) => id);
        return groupResults(name, ids, await runGroup(definition, [...jobs], context));
      }
      const [job] = jobs;
      if (job === undefined || jobs.length > 1)
        throw new Error(`The handler ${name} takes one job at a time.`);
      return [singleResult(name, await runOne(definition, job, context))];
    },
  };
}

function runOne<Payload>(
  definition: Single<Payload> | SingleOutside<Payload>,
  job: HandlerJob<Payload>,
  context: RunContext,
): Ending<Again | Done> {
  const { log, inTransaction } = context;
  if (definition.transaction === false) return definition.run(job, withSignal(context, { log, job }));
  const { sql, schedule } = inTransaction;
  return definition.run(job, withSignal(context, { log, sql, schedule, job }));
}

function runGroup<Payload>(
  definition: Grouped<Payload> | GroupedOutside<Payload>,
  jobs: readonly HandlerJob<Payload>[],
  context: RunContext,
): Ending<GroupResults> {
  const { log, inTransaction } = context;
  const group = jobs[0]?.group ?? null;
  if (definition.transaction === false) return definition.run(jobs, withSignal(context, { log, group }));
  const { sql, schedule } = inTransaction;
  return definition.run(jobs, withSignal(context, { log, sql, schedule, group }));
}
