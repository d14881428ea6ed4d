import type { JsonObject } from "./found.ts";

/** Some fields of a schedule, how they differ from their source, and why they are impossible. */
export interface Parts {
  body: JsonObject;
  differences: string[];
  faults: string[];
}

export function joined(...parts: Partial<Parts>[]): Parts {
  return {
    body: Object.assign({}, ...parts.map(({ body }) => body ?? {})),
    differences: parts.flatMap(({ differences }) => differences ?? []),
    faults: parts.flatMap(({ faults }) => faults ?? []),
  };
}
