import type { CarillonProblem } from "../../../client/request/problem.ts";
import { faultText } from "./filter-words.ts";

/** The faults alone: that the body is not understood says less than they do. */
export function refusalText({ errors, detail, message }: CarillonProblem): string {
  if (errors.length === 0) return detail;
  if (errors.some(({ path }) => path === "")) return message;
  return `${errors.map(faultText).join("; ")}.`;
}
