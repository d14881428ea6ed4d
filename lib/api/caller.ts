import type { Caller } from "../schedule/caller.ts";
import type { Token } from "../token/token.ts";
import type { ApiRequest } from "./request.ts";

/** Who makes a request, as the audit has it. */
export function callerOf(token: Token, { from }: Pick<ApiRequest, "from">): Caller {
  return { name: token.name, origin: { via: "api", token: token.id, ...from } };
}
