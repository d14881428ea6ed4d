import type { Caller } from "../../schedule/shape/caller.ts";
import type { Token } from "../../token/token.ts";
import type { ApiRequest } from "./request.ts";

/** Who makes a request, as the audit has it. */
export function callerOf(token: Token, { from }: Pick<ApiRequest, "from">): Caller {
  const { request, ip, agent } = from;
  return {
    name: token.name,
    origin: { via: "api", token: token.id, request, ip: storable(ip), agent: storable(agent) },
  };
}

const lengthMax = 300;

/** A client may name itself however it likes; what is kept of it is short, and is text that can be stored. */
function storable(header: string | undefined): string | undefined {
  return header
    ?.slice(0, lengthMax)
    .replaceAll(/\p{Cc}/gu, " ")
    .toWellFormed();
}
