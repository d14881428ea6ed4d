import { stackContext } from "../../config/stack-caller.ts";
import { Refusal } from "../../refusal.ts";
import { type Principal, stackName } from "../../token/principal.ts";
import type { PresentedToken } from "../../token/token.ts";
import type { Authenticate } from "./authenticate.ts";

const oneSchedule = /^\/v1\/schedules\/[^/]+$/;
const methods: ReadonlySet<string> = new Set(["GET", "PUT", "DELETE"]);

/**
 * Stacks whose schedules the function of stacks keeps; any other caller signs in as before. The
 * right to invoke the API's function is their sign-in, and they may read, put and delete single
 * schedules.
 */
export function stacksOr(
  others: Authenticate,
  find: (principal: Principal) => Promise<PresentedToken>,
): Authenticate {
  return async (incoming) => {
    const stack = stackContext.safeParse(incoming.context).data?.carillonStack;
    if (stack === undefined) return others(incoming);
    if (!methods.has(incoming.method) || !oneSchedule.test(incoming.path))
      throw new Refusal("forbidden", "A stack may read, put and delete single schedules, and nothing else.");
    const identity = `stack ${stack.account} ${stack.name}`;
    const token = await find({ name: stackName(stack.name), identity, scope: "write", prefix: null });
    // As for other principals: without a lasting secret, stored answers are as readable as schedules.
    return { token, secret: identity };
  };
}
