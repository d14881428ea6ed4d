import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Hold, Schedule } from "../../../client/schedule.ts";
import type { NextOccurrences } from "../../../client/time.ts";
import { isWider, mayReleaseOwn } from "../../data/release-right.ts";
import { intoHoldText } from "../../data/text/held-runs-text.ts";
import { wallText } from "../../data/time/zone.ts";
import { ownTokenQuery, useMay } from "../../data/token-query.ts";
import { useSession } from "../../hooks/session-context.ts";
import { useZone } from "../../hooks/use-zone.ts";
import { Actor } from "../../parts/actor.tsx";
import { Confirm } from "../../parts/dialog/confirm.tsx";
import { Coming, runsShown } from "../../parts/release/coming.tsx";
import { ReleaseSchedule } from "../../parts/release/release-schedule.tsx";
import { WiderHold } from "../../parts/release/wider-hold.tsx";
import { useHoldEnd } from "../../parts/time/hold-end.tsx";

interface ActionsProps {
  schedule: Schedule;
  /** The dialog of the deletion is open: it goes on once the schedule is gone. */
  onDeleting(isOpen: boolean): void;
}

/** The actions on a schedule. Before each one, the server's preview is shown. */
export function Actions({ schedule, onDeleting }: ActionsProps) {
  const { key, holds } = schedule;
  const mayEdit = useMay("putSchedule");
  const mayRelease = useMay("resumeSchedule");
  return (
    <div className="schedule-actions">
      {mayEdit ? (
        <Link className="button primary" to="/schedules/$key/edit" params={{ key }}>
          Edit
        </Link>
      ) : null}
      <Fire schedule={schedule} />
      <Pause schedule={schedule} />
      {(mayRelease ? holds.filter(isOwn) : []).map((hold) => (
        <Release key={hold.owner} name={key} hold={hold} />
      ))}
      <Delete schedule={schedule} onDeleting={onDeleting} />
    </div>
  );
}

/** A hold of a group or a tag is released for all its members, not here. */
const isOwn = ({ group, tag }: Hold) => group === undefined && tag === undefined;

function Release({ name, hold }: { name: string; hold: Hold }) {
  const { carillon } = useSession();
  const { data: own } = useQuery(ownTokenQuery(carillon));
  const { owner, reach } = hold;
  if (isWider(reach, own?.prefix))
    return (
      <p>
        The hold of <Actor name={owner} />: <WiderHold reach={reach} />
      </p>
    );
  if (!mayReleaseOwn(hold, own)) return null;
  return (
    <ReleaseSchedule
      name={name}
      hold={{ owner, reason: hold.reason, since: hold.since }}
      button={`Release the hold of “${owner}” …`}
      title={`Release the hold of “${owner}”?`}
    />
  );
}

function Pause({ schedule }: { schedule: Schedule }) {
  const { key: name } = schedule;
  const { carillon } = useSession();
  const zone = useZone();
  const { until, fields, fieldFault } = useHoldEnd();
  if (!useMay("pauseSchedule")) return null;
  return (
    <Confirm<NextOccurrences>
      button="Hold …"
      title={`Hold “${name}”?`}
      previewKey={["pause", name]}
      preview={(signal) => carillon.schedules.next(name, { n: runsShown }, { signal })}
      describe={(next) => (
        <>
          <p>Nothing runs until the hold ends. {intoHoldText(schedule)}</p>
          <Coming next={next} none="No run comes; runs of a later edit are held.">
            The next runs:
          </Coming>
        </>
      )}
      fields={fields}
      fieldFault={fieldFault}
      verb={() => "Hold it"}
      act={async ({ reason }) => {
        await carillon.schedules.pause(name, { ...(reason === "" ? {} : { reason }), until });
        if (until === undefined) return "It is held, without an end.";
        return `It is held until ${wallText(Date.parse(until), { zone, now: Date.now(), isExact: false })} ${zone}.`;
      }}
    />
  );
}

function Fire({ schedule: { key } }: { schedule: Schedule }) {
  const { carillon } = useSession();
  const [fired, setFired] = useState<string>();
  if (!useMay("fireSchedule")) return null;
  return (
    <Confirm<Schedule>
      button="Fire now …"
      title={`Fire “${key}” now?`}
      previewKey={["fire", key]}
      preview={(signal) => carillon.schedules.get(key, { signal })}
      describe={({ target, payload, state }) => (
        <>
          <p>
            One job runs at once, beside the cadence{state === "paused" ? " and in spite of its hold" : ""},
            with this target and payload:
          </p>
          <pre className="payload">{JSON.stringify({ target, payload }, null, 2)}</pre>
        </>
      )}
      hasNoReason
      verb={() => "Fire it"}
      act={async () => {
        const { id } = await carillon.schedules.fire(key);
        setFired(id);
        return `The job ${id} runs.`;
      }}
      next={
        fired === undefined ? null : (
          <Link to="/jobs/$id" params={{ id: fired }} className="button">
            Open the job
          </Link>
        )
      }
    />
  );
}

function Delete({ schedule: { key, version }, onDeleting }: ActionsProps) {
  const { carillon } = useSession();
  if (!useMay("deleteSchedule")) return null;
  return (
    <Confirm<NextOccurrences>
      button="Delete …"
      title={`Delete “${key}”?`}
      previewKey={["delete", key]}
      preview={(signal) => carillon.schedules.next(key, { n: runsShown }, { signal })}
      describe={(next) => (
        <Coming next={next} none="No run comes. Its past stays in the ledger.">
          Its waiting jobs are cancelled; its past stays in the ledger. These runs will not come:
        </Coming>
      )}
      hasNoReason
      isDangerous
      verb={() => "Delete it"}
      act={async () => {
        await carillon.schedules.delete(key, { ifMatch: version });
        return "It is deleted. Its view makes it again.";
      }}
      onOpenChange={onDeleting}
    />
  );
}
