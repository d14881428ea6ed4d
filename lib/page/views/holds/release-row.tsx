import type { BoardHold } from "../../../client/holds.ts";
import { useMay } from "../../data/token-query.ts";
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

function One({ hold, onOpenChange }: OneProps) {
  const { scope, name, owner, prefix, reason, since, releasable } = hold;
  if (owner === null || scope === "filter" || !releasable) return null;
  const title = `Release the hold of “${owner}” on the ${scope} “${name}”?`;
  if (scope === "schedule") {
    const props = { name, button, title, onOpenChange };
    return <ReleaseSchedule {...props} hold={{ owner, reason, since }} />;
  }
  return <ReleaseLabel {...{ scope, name, owner, prefix, button, title, onOpenChange }} />;
}

interface TogetherProps extends Pick<ReleaseRowProps, "onOpenChange"> {
  group: HoldGroup;
}

function Together({ group: { members, hasMore }, onOpenChange }: TogetherProps) {
  const [{ owner }] = members;
  const mayMany = useMay("resumeManySchedules");
  const keys = members.filter(({ releasable }) => releasable).map(({ name }) => name);
  if (owner === null || !mayMany || keys.length === 0) return null;
  const title = `Release these holds of “${owner}”?`;
  const wider = members.length - keys.length;
  return <ReleaseTogether {...{ owner, keys, wider, hasMore, button, title, onOpenChange }} />;
}
