import type { Spec } from "../../../client/schedule.ts";

/** `, moved by up to 30s`: what its spread and its slot do to the times of a schedule; nothing without them. */
export function movesText({ spread, slot }: Pick<Spec, "spread" | "slot">): string {
  const moves = [
    ...(spread === "0s" ? [] : [`by up to ${spread}`]),
    ...(slot === null ? [] : [`to the next slot of ${slot}`]),
  ];
  return moves.length === 0 ? "" : `, moved ${moves.join(" and ")}`;
}
