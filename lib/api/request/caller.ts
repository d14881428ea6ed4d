import type { Caller } from "../../schedule/shape/caller.ts";
import type { Token } from "../../token/token.ts";
import type { ApiRequest } from "./request.ts";

/** The caller as the audit records it. */
export function callerOf(token: Token, { from }: Pick<ApiRequest, "from">): Caller {
  const { request, ip, agent } = from;
  return {
    name: token.name,
    reach: { prefix: token.prefix ?? "", team: token.team ?? "" },
    origin: {
      via: "api",
      token: token.id,
      prefix: token.prefix ?? undefined,
      request,
      ip: storable(ip),
      agent: storable(agent),
    },
  };
}

const lengthMax = 300;

/** Clients choose their own header values, so only a short text that Postgres can store is kept. */
function storable(header: string | undefined): string | undefined {
  return header
    ?.slice(0, lengthMax)
    .replaceAll(/\p{Cc}/gu, " ")
    .toWellFormed();
}
