import { InvokeCommand, type LambdaClient } from "@aws-sdk/client-lambda";
import * as z from "zod";
import { requestLimits, sendingTimeouts } from "../config/aws.ts";
import { functionTimeoutSeconds } from "../config/function-limits.ts";

/**
 * The limits of a call that waits for a function: no job takes longer, and the job's own `timeout`
 * ends most calls earlier.
 */
export const callLimits = requestLimits(functionTimeoutSeconds.webhook * 1_000);

/**
 * The error of a function. Node writes `trace`, Python and Java write `stackTrace`; a function that
 * ran out of time has neither.
 */
const thrown = z.object({
  errorType: z.string().catch("FunctionError"),
  errorMessage: z.string().catch("The function failed and gave no message."),
  trace: z.array(z.string()).optional().catch(undefined),
  stackTrace: z.array(z.string()).optional().catch(undefined),
});

/** A function threw. Has the name, the message and the stack of its error. */
export class FunctionFailed extends Error {
  constructor(answer: string) {
    const { errorType, errorMessage, trace, stackTrace } = thrown.catch(thrown.parse({})).parse(json(answer));
    super(errorMessage);
    this.name = errorType;
    this.stack = (trace ?? stackTrace ?? []).join("\n");
  }
}

/** Undefined if the text is not JSON. */
function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Calls a function and returns its answer; throws FunctionFailed if it threw. */
export async function callFunction(
  lambda: LambdaClient,
  { name, payload, signal }: { name: string; payload: string; signal: AbortSignal },
): Promise<string> {
  const { FunctionError, Payload } = await lambda.send(
    new InvokeCommand({
      FunctionName: name,
      InvocationType: "RequestResponse",
      Payload: Buffer.from(payload),
    }),
    { abortSignal: signal },
  );
  const answer = Payload?.transformToString() ?? "";
  if (FunctionError === undefined) return answer;
  throw new FunctionFailed(answer);
}

/** Puts an event into Lambda's own queue of the function, and does not wait for the result. */
export async function sendToFunction(
  lambda: LambdaClient,
  { name, payload, signal }: { name: string; payload: string; signal: AbortSignal },
): Promise<void> {
  await lambda.send(
    new InvokeCommand({ FunctionName: name, InvocationType: "Event", Payload: Buffer.from(payload) }),
    { abortSignal: signal, requestTimeout: sendingTimeouts.requestTimeout },
  );
}
