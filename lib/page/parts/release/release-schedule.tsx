import type { Schedule } from "../../../client/schedule.ts";
import type { NextOccurrences } from "../../../client/time.ts";
import { releasedRunsText } from "../../data/text/held-runs-text.ts";
import { useSession } from "../../hooks/session-context.ts";
import { Confirm } from "../dialog/confirm.tsx";
import { Instant } from "../time/instant.tsx";
import { Coming, runsShown } from "./coming.tsx";
import type { ReleaseProps } from "./release-props.ts";

interface ReleaseScheduleProps extends ReleaseProps {
  name: string;
  hold: { owner: string; reason: string | null; since: string | null };
}

interface Seen {
  schedule: Schedule;
  next: NextOccurrences;
}

/** Holds that stay, also those of groups and tags. */
const othersOf = ({ holds }: Schedule, owner: string) =>
  holds.filter((hold) => hold.owner !== owner || hold.group !== undefined || hold.tag !== undefined).length;

/** Ends the hold that one owner has set on one schedule, after its coming runs were shown. */
export function ReleaseSchedule({ name, hold, button, title, onOpenChange }: ReleaseScheduleProps) {
  const { carillon } = useSession();
  const { owner, reason, since } = hold;
  return (
    <Confirm<Seen>
      button={button}
      title={title}
      previewKey={["resume", name, owner]}
      preview={async (signal) => {
        const [schedule, next] = await Promise.all([
          carillon.schedules.get(name, { signal }),
          carillon.schedules.next(name, { n: runsShown }, { signal }),
        ]);
        return { schedule, next };
      }}
      describe={({ schedule, next }) => (
        <>
          <p>
            Held{since === null ? "" : " since "}
            {since === null ? null : <Instant at={since} />}
            {reason === null ? "" : `: ${reason}`}. {releasedRunsText(schedule, othersOf(schedule, owner))}
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
