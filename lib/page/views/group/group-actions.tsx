import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { SharedHold } from "../../../client/groups.ts";
import { amountText, countText, numberText } from "../../data/amounts.ts";
import { ownTokenQuery, useMay } from "../../data/token-query.ts";
import { useSession } from "../../hooks/session-context.ts";
import { Confirm } from "../../parts/dialog/confirm.tsx";
import { HoldEnd } from "../../parts/hold-end.tsx";

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
  const mine = holds.some(({ owner, progress }) => owner === own.data?.holdOwner && progress !== "releasing");
  const mayPause = useMay("pauseGroup");
  const mayResume = useMay("resumeGroup");
  const mayCancel = useMay("cancelGroup");
  return (
    <span className="actions">
      {mayPause ? <HoldGroup group={group} /> : null}
      {mayResume && mine ? <ReleaseGroup group={group} /> : null}
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
  const [until, setUntil] = useState<string>();
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
      fields={<HoldEnd until={until} onChange={setUntil} />}
      verb={() => "Hold the group"}
      act={async ({ reason, progress }) => {
        const params = { until, ...(reason === "" ? {} : { reason }) };
        const done = await inParts((cursor) => carillon.groups.pause(group, params, { cursor }), progress);
        return `The group is held: ${amountText({ count: done, more: false }, "schedule")}.`;
      }}
    />
  );
}

function ReleaseGroup({ group }: { group: string }) {
  const { carillon } = useSession();
  return (
    <Confirm<Counted>
      button="Release …"
      title="Release the group?"
      previewKey={["release group", group]}
      preview={useCounts(group)}
      describe={({ held }) => (
        <p>
          Your hold of the group ends. <b>{countText(held)}</b> of its schedules are held now; those with
          another hold stay held.
        </p>
      )}
      verb={() => "Release the group"}
      act={async ({ progress }) => {
        const done = await inParts((cursor) => carillon.groups.resume(group, {}, { cursor }), progress);
        return `Your hold has ended: ${amountText({ count: done, more: false }, "schedule is", "schedules are")} released.`;
      }}
      hasNoReason
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
      act={async ({ reason, progress }) => {
        const params = reason === "" ? {} : { reason };
        const done = await inParts((cursor) => carillon.groups.cancel(group, params, { cursor }), progress);
        return `${amountText({ count: done, more: false }, "schedule is", "schedules are")} deleted.`;
      }}
      isDangerous
    />
  );
}

/** Repeats a call until it has no cursor, and returns the sum of what was done. */
async function inParts(
  call: (cursor: string | undefined) => Promise<{ done: number; cursor?: string }>,
  progress: (text: string) => void,
): Promise<number> {
  let done = 0;
  let cursor: string | undefined;
  do {
    const part = await call(cursor);
    done += part.done;
    cursor = part.cursor;
    progress(`${numberText(done)} schedules so far …`);
  } while (cursor !== undefined);
  return done;
}
