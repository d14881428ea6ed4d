import type { Fault } from "../../refusal.ts";

/**
 * The detail type of a target that names none. It is the only type of Carillon's that a schedule may
 * name: another one would pass for an event of Carillon's own, such as `carillon.job.dead`.
 */
export const dueDetailType = "carillon.job.due";

export const reservedSourceText =
  "may not begin with `aws.`, in any letter case: EventBridge reserves such sources for AWS";

export const reservedDetailTypeText = `may not begin with \`carillon.\`, in any letter case: such types are those of Carillon's own events; allowed are \`${dueDetailType}\` and types that begin with another word`;

export function isReservedSource(source: string): boolean {
  return beginsWith(source, "aws.");
}

export function isReservedDetailType(detailType: string): boolean {
  return detailType !== dueDetailType && beginsWith(detailType, "carillon.");
}

/** A rule on a bus may compare without letter case, and people do not see blanks. */
function beginsWith(name: string, reserved: string): boolean {
  return name.trimStart().toLowerCase().startsWith(reserved);
}

/**
 * The faults of an event that schedules of this deployment may not send. `sources` are the allowed
 * ones; an entry that ends in `*` stands for all that begin so. A damaged stored event may lack a
 * name.
 */
export function eventFaults(
  sources: readonly string[],
  { source, detailType }: { source: unknown; detailType: unknown },
): Fault[] {
  const sourceFault = faultOfSource(sources, String(source));
  return [
    ...(sourceFault === null ? [] : [{ path: "target.event.source", message: sourceFault }]),
    ...(isReservedDetailType(String(detailType))
      ? [{ path: "target.event.detailType", message: reservedDetailTypeText }]
      : []),
  ];
}

function faultOfSource(sources: readonly string[], source: string): string | null {
  if (isReservedSource(source)) return reservedSourceText;
  if (sources.some((allowed) => covers(allowed, source))) return null;
  return `is not among the sources of events that schedules may use here: allowed are ${sources.join(", ")}`;
}

function covers(allowed: string, source: string): boolean {
  return allowed.endsWith("*") ? source.startsWith(allowed.slice(0, -1)) : source === allowed;
}
