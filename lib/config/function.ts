import { loggableError } from "../log/error-text.ts";
import type { Environment } from "./environment.ts";
import { logFrom } from "./log-from.ts";
import { surviveStrayExceptions, surviveStrayRejections } from "./strays.ts";

/** The part of Lambda's context that Carillon uses. */
export interface Invocation {
  awsRequestId: string;
  getRemainingTimeInMillis(): number;
}

export interface Assembled<Event, Result> {
  handler(event: Event, invocation: Invocation): Promise<Result>;
  close(): Promise<void>;
}

export type Assemble<Event, Result> = (env: Environment) => Assembled<Event, Result>;

/**
 * A Lambda entry point that builds its dependencies from the environment once, at the first event
 * rather than at import. Lambda's runtime logs a thrown error with all of its members, so this
 * throws an error that may be logged.
 */
export function onDemand<Event, Result>(
  assemble: Assemble<Event, Result>,
  /** Whether this function contains code of handlers. */
  { hasHandlers = false }: { hasHandlers?: boolean } = {},
): Assembled<Event, Result>["handler"] {
  let assembled: Assembled<Event, Result> | undefined;
  return async (event, invocation) => {
    try {
      if (assembled === undefined) {
        const log = logFrom(process.env, "function");
        surviveStrayRejections(log);
        if (hasHandlers) surviveStrayExceptions(log);
        assembled = assemble(process.env);
      }
      return await assembled.handler(event, invocation);
    } catch (error) {
      throw loggableError(error);
    }
  };
}
