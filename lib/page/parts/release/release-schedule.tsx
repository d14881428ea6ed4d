import type { NextOccurrences } from "../../../client/time.ts";
import { useSession } from "../../hooks/session-context.ts";
import { Confirm } from "../dialog/confirm.tsx";
import { Instant } from "../instant.tsx";
import { Coming, runsShown } from "./coming.tsx";
import type { ReleaseProps } from "./release-props.ts";

interface ReleaseScheduleProps extends ReleaseProps {
  name: string;
  hold: { owner: string; reason: string | null; since: string | null };
}

/** Ends the hold that one owner has set on one schedule, after its coming runs were shown. */
export function ReleaseSchedule({ name, hold, button, title, onOpenChange }: ReleaseScheduleProps) {
  const { carillon } = useSession();
  const { owner, reason, since } = hold;
  return (
    <Confirm<NextOccurrences>
      button={button}
      title={title}
      previewKey={["resume", name, owner]}
      preview={(signal) => carillon.schedules.next(name, { n: runsShown }, { signal })}
      describe={(next) => (
        <>
          <p>
            Held{since === null ? "" : " since "}
            {since === null ? null : <Instant at={since} />}
            {reason === null ? "" : `: ${reason}`}. Its catch-up policy says which of the missed runs still
            run.
          </p>
          <Coming next={next} none="No run comes.">
            The next runs:
          </Coming>
        </>
      )}
      hasNoReason
      verb={() => "Release it"}
      act={async () => {
        const { holds } = await carillon.schedules.resume(name, { owner });
        return holds.length === 0
          ? "It is released and runs."
          : `It is released. ${holds.length} other ${holds.length === 1 ? "hold remains" : "holds remain"}.`;
      }}
      onOpenChange={onOpenChange}
    />
  );
}
