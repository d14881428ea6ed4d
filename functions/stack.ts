import { LambdaClient } from "@aws-sdk/client-lambda";
import { pause as realPause } from "../lib/client/request/backoff.ts";
import { makeSend } from "../lib/client/request/transport.ts";
import { Schedules } from "../lib/client/schedules.ts";
import { awsClientSettings, requestLimits } from "../lib/config/aws.ts";
import { type Environment, required } from "../lib/config/environment.ts";
import { type Assembled, onDemand } from "../lib/config/function.ts";
import { logFrom } from "../lib/config/log-from.ts";
import type { StackCaller } from "../lib/config/stack-caller.ts";
import { errorText } from "../lib/log/error-text.ts";
import { answerStack } from "../lib/stack/answer-stack.ts";
import { carryOut } from "../lib/stack/carry-out.ts";
import { answerMs, fetchFromFunction } from "../lib/stack/invoke-api.ts";
import { readAddress } from "../lib/stack/stack-event.ts";

/** The rest of the time is for the answer, which is tried several times. */
const reserveMs = 30_000;

/** Their waits take about a minute and a half: a database may start with the deployment. */
const retries = 20;

/**
 * Keeps the schedules that stacks define, as CloudFormation's custom resource. It is outside of the
 * network, where it reaches the address for its answers, and its only right is to invoke the API's
 * function.
 */
export function assemble(env: Environment, pause = realPause): Assembled<unknown, void> {
  const log = logFrom(env, "stack");
  const lambda = new LambdaClient(awsClientSettings(env, "LAMBDA", requestLimits(answerMs)));
  const schedulesFor = (caller: StackCaller) =>
    new Schedules(
      makeSend({
        // Only the path of a request is used: the function itself gets it, and asks for no token.
        url: "https://carillon.invalid",
        token: "none",
        fetch: fetchFromFunction({ lambda, name: required(env, "API_FUNCTION") }, caller),
        timeout: answerMs,
        retries,
        headers: {},
        random: Math.random,
        now: Date.now,
        pause,
        newKey: () => crypto.randomUUID(),
      }),
    );
  return {
    handler: async (event, invocation) => {
      const address = readAddress(event);
      const ms = Math.max(0, invocation.getRemainingTimeInMillis() - reserveMs);
      const limit = { signal: AbortSignal.timeout(ms), ms };
      const answer = await carryOut({ log, schedulesFor }, event, address, limit);
      try {
        await answerStack({ fetch, pause }, address, answer);
      } catch (error) {
        log.error("stack.answer-failed", {
          request: address.RequestId,
          stack: address.StackId,
          error: errorText(error),
        });
        // Lambda then runs the request again, and its answer is the same.
        throw error;
      }
    },
    close: async () => lambda.destroy(),
  };
}

export const handler = onDemand(assemble);
