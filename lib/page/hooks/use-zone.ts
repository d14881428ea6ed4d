import { useSearch } from "@tanstack/react-router";
import { isZone, readerZone } from "../data/time/zone.ts";

/** The zone that the address names (`?zone=UTC`), or else the reader's. */
export function useZone(): string {
  const { zone } = useSearch({ from: "__root__" });
  return zone !== undefined && isZone(zone) ? zone : readerZone();
}
