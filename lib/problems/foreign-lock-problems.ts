import { type ForeignLock, foreignLocksMax, holderName, lockNames } from "../db/foreign-locks.ts";
import { amountText, type Problem, problem } from "./problem.ts";

/** Sessions of other programs that hold locks of Carillon: one problem for all, which names the oldest. */
export function foreignLockProblems(locks: readonly ForeignLock[]): Problem[] {
  const [first] = locks;
  if (first === undefined) return [];
  const more = locks.length > foreignLocksMax;
  const count = { count: more ? foreignLocksMax : locks.length, more };
  const many = amountText(count, "session of another program holds", "sessions of other programs hold");
  const named = `${holderName(first)} of ${first.user}, ${lockNames(first)}`;
  return [
    problem({
      kind: "foreign-locks",
      since: first.since,
      count,
      text: `${many} advisory locks of Carillon, which waits for them: ${named}.`,
      path: "/v1/problems",
      command: "carillon status",
    }),
  ];
}
