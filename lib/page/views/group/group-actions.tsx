import { useQuery } from "@tanstack/react-query";
import type { SharedHold } from "../../../client/groups.ts";
import { amountText, countText } from "../../data/amounts.ts";
import { doneText } from "../../data/bulk/change-all.ts";
import { inParts } from "../../data/bulk/in-parts.ts";
import { ownTokenQuery, useMay } from "../../data/token-query.ts";
import { useSession } from "../../hooks/session-context.ts";
import { Confirm } from "../../parts/dialog/confirm.tsx";
import { ReleaseLabel } from "../../parts/release/release-label.tsx";
import { useHoldEnd } from "../../parts/time/hold-end.tsx";

interface GroupActionsProps {
  group: string;
  holds: readonly SharedHold[];
}

interface Counted {
  all: { count: number; more: boolean };
  held: { count: number; more: boolean };
}

/** Hold, release and delete: all schedules of the group together. */
export function GroupActions({ group, holds }: GroupActionsProps) {
  const { carillon } = useSession();
  const own = useQuery(ownTokenQuery(carillon));
  const mine = holds.find(({ owner, progress }) => owner === own.data?.holdOwner && progress !== "releasing");
  const mayPause = useMay("pauseGroup");
  const mayResume = useMay("resumeGroup");
  const mayCancel = useMay("cancelGroup");
  return (
    <span className="actions">
      {mayPause ? <HoldGroup group={group} /> : null}
      {mayResume && mine?.releasable === true ? (
        <ReleaseLabel
          scope="group"
          name={group}
          owner={mine.owner}
          prefix={mine.prefix}
          button="Release …"
          title="Release the group?"
        />
      ) : null}
      {mayCancel ? <DeleteGroup group={group} /> : null}
    </span>
  );
}

function useCounts(group: string) {
  const { carillon } = useSession();
  return async (signal: AbortSignal): Promise<Counted> => {
    const [all, held] = await Promise.all([
      carillon.schedules.count({ group, signal }),
      carillon.schedules.count({ group, state: "paused", signal }),
    ]);
    return { all, held };
  };
}

function HoldGroup({ group }: { group: string }) {
  const { carillon } = useSession();
  const { until, fields, fieldFault } = useHoldEnd();
  return (
    <Confirm<Counted>
      button="Hold …"
      title="Hold the group?"
      previewKey={["hold group", group]}
      preview={useCounts(group)}
      describe={({ all, held }) => (
        <p>
          <b>{amountText(all, "schedule does", "schedules do")}</b> not run until the hold ends, and those
          that join the group later neither.{" "}
          {held.count === 0 ? "" : `${countText(held)} of them are held already.`}
        </p>
      )}
      fields={fields}
      fieldFault={fieldFault}
      verb={() => "Hold the group"}
      act={async ({ reason, progress }) => {
        const params = { until, ...(reason === "" ? {} : { reason }) };
        const { done } = await inParts(
          (cursor) => carillon.groups.pause(group, params, { cursor }),
          progress,
        );
        return `The group is held: ${amountText({ count: done, more: false }, "schedule")}.`;
      }}
    />
  );
}

function DeleteGroup({ group }: { group: string }) {
  const { carillon } = useSession();
  return (
    <Confirm<Counted>
      button="Delete all …"
      title="Delete all schedules of the group?"
      previewKey={["delete group", group]}
      preview={useCounts(group)}
      describe={({ all }) => (
        <p>
          <b>{amountText(all, "schedule is", "schedules are")}</b> deleted. Waiting jobs are cancelled, and
          running ones are told to stop.
        </p>
      )}
      verb={({ all }) => (all.count === 0 ? null : `Delete ${amountText(all, "schedule")}`)}
      isStoppable
      act={async ({ reason, progress, isStopped }) => {
        const params = reason === "" ? {} : { reason };
        const call = (cursor: string | undefined) => carillon.groups.cancel(group, params, { cursor });
        const cancelled = await inParts(call, progress, isStopped);
        return doneText({ ...cancelled, unchanged: 0, failed: 0, failures: [] }, "deleted");
      }}
      isDangerous
    />
  );
}
