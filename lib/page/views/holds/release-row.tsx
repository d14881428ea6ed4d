import { useQuery } from "@tanstack/react-query";
import type { BoardHold } from "../../../client/holds.ts";
import { ownTokenQuery, useMay } from "../../data/token-query.ts";
import { useSession } from "../../hooks/session-context.ts";
import { ReleaseLabel } from "../../parts/release/release-label.tsx";
import { ReleaseSchedule } from "../../parts/release/release-schedule.tsx";
import type { HoldGroup, HoldRow } from "./hold-groups.ts";
import { ReleaseTogether } from "./release-together.tsx";

interface ReleaseRowProps {
  row: HoldRow;
  onOpenChange(isOpen: boolean): void;
}

const button = "Release …";

/** Releases the hold of a row, or the holds of a row that were set together. */
export function ReleaseRow({ row, onOpenChange }: ReleaseRowProps) {
  return "group" in row ? (
    <Together group={row.group} onOpenChange={onOpenChange} />
  ) : (
    <One hold={row.hold} onOpenChange={onOpenChange} />
  );
}

interface OneProps extends Pick<ReleaseRowProps, "onOpenChange"> {
  hold: BoardHold;
}

function One({ hold: { scope, name, owner, prefix, reason, since, state }, onOpenChange }: OneProps) {
  const may = useMayRelease(owner);
  if (owner === null || state !== "binding" || scope === "filter" || !may[scope]) return null;
  const title = `Release the hold of “${owner}” on the ${scope} “${name}”?`;
  if (scope === "schedule") {
    const hold = { owner, reason, since };
    return <ReleaseSchedule {...{ name, hold, button, title, onOpenChange }} />;
  }
  return <ReleaseLabel {...{ scope, name, owner, prefix, button, title, onOpenChange }} />;
}

interface TogetherProps extends Pick<ReleaseRowProps, "onOpenChange"> {
  group: HoldGroup;
}

function Together({ group: { members, hasMore }, onOpenChange }: TogetherProps) {
  const [{ owner, state }] = members;
  const may = useMayRelease(owner);
  if (owner === null || state !== "binding" || !may.together) return null;
  const title = `Release these holds of “${owner}”?`;
  const keys = members.map(({ name }) => name);
  return <ReleaseTogether {...{ owner, keys, hasMore, button, title, onOpenChange }} />;
}

/** Carillon's own holds, which every token that may release may release. */
const carillonsOwner = "carillon";

/** An admin may release the holds of others too. */
function useMayRelease(owner: string | null) {
  const { carillon } = useSession();
  const { data } = useQuery(ownTokenQuery(carillon));
  const isOwn = data !== undefined && (data.scope === "admin" || owner === data.holdOwner);
  const isOfCarillon = owner === carillonsOwner;
  return {
    schedule: useMay("resumeSchedule") && (isOwn || isOfCarillon),
    group: useMay("resumeGroup") && isOwn,
    tag: useMay("resumeTag") && isOwn,
    together: useMay("resumeManySchedules") && (isOwn || isOfCarillon),
  } as const;
}
