import { useZone } from "../../hooks/use-zone.ts";

/** The screen's zone, behind a time that stands beside one of another zone. */
export function OtherZone({ than }: { than: string }) {
  const zone = useZone();
  return zone === than ? null : ` ${zone}`;
}
