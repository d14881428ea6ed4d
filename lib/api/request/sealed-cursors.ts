import { openCursor, sealCursor } from "../../sealing/seal-cursor.ts";
import type { Answer } from "./answer.ts";
import type { ApiRequest } from "./request.ts";

/** No list gives out this cursor, so its route refuses it. */
const unknown = "unknown";

/** Encrypts the cursors of answers, and opens them in requests: callers learn nothing from them. */
export interface SealedCursors {
  opened(request: ApiRequest, prefix: string | null): Promise<ApiRequest>;
  sealed(answer: Answer, prefix: string | null): Promise<Answer>;
}

export function sealedCursors(readKey: () => Promise<Buffer>): SealedCursors {
  return {
    opened: async (request, prefix) => {
      const { cursor: sealed } = request.query;
      if (sealed === undefined) return request;
      const cursor = openCursor(await readKey(), prefix, sealed) ?? unknown;
      return { ...request, query: { ...request.query, cursor } };
    },
    sealed: async (answer, prefix) => {
      const { body } = answer;
      if (typeof body !== "object" || body === null || !("cursor" in body)) return answer;
      if (typeof body.cursor !== "string") return answer;
      return { ...answer, body: { ...body, cursor: sealCursor(await readKey(), prefix, body.cursor) } };
    },
  };
}
