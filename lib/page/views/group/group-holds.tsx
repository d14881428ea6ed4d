import type { SharedHold } from "../../../client/groups.ts";
import { amountText } from "../../data/amounts.ts";
import { Panel } from "../../parts/panel.tsx";
import { WiderHold } from "../../parts/release/wider-hold.tsx";
import { Instant } from "../../parts/time/instant.tsx";

export function GroupHolds({ holds }: { holds: readonly SharedHold[] }) {
  if (holds.length === 0) return null;
  return (
    <Panel title="Holds" note="they also bind schedules that join later">
      <ul className="entries">
        {holds.map((hold) => (
          <li key={`${hold.owner} ${hold.prefix}`}>
            <span>
              ‖ held by <b>{hold.owner}</b>
              {hold.reason === null ? "" : `: ${hold.reason}`}
              {hold.prefix === null ? "" : `, keys that begin with ${hold.prefix}`}
            </span>
            <span className="quiet">
              since <Instant at={hold.since} />,{" "}
              {hold.until === null ? (
                "no end is set"
              ) : (
                <>
                  ends <Instant at={hold.until} />
                </>
              )}
              {progressText(hold)}
              {hold.releasable || hold.progress === "releasing" ? null : (
                <WiderHold lead="; " reach={hold.prefix ?? ""} />
              )}
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function progressText({ progress, members }: SharedHold): string {
  const reached = members === null ? "" : `, ${amountText({ count: members, more: false }, "schedule")}`;
  if (progress === "setting") return `${reached} so far`;
  return progress === "releasing" ? `${reached} released so far` : reached;
}
