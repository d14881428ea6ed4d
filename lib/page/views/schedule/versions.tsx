import { useQuery } from "@tanstack/react-query";
import { useSession } from "../../app/session-context.ts";
import { versionsQuery } from "../../data/one-schedule-queries.ts";
import { AnswerState } from "../../parts/answer-state.tsx";
import { Instant } from "../../parts/instant.tsx";
import { Panel } from "../../parts/panel.tsx";

export function Versions({ name }: { name: string }) {
  const { carillon } = useSession();
  const versions = useQuery(versionsQuery(carillon, name));
  return (
    <Panel title="Versions" note="the newest first">
      <AnswerState
        error={versions.error}
        isPending={versions.isPending}
        retry={() => void versions.refetch()}
      />
      <ol className="past">
        {versions.data?.items.map(({ version, change, at, by, changes }) => (
          <li key={`${at} ${change} ${by}`}>
            <Instant at={at} />
            <span>
              {change} by {by}
            </span>
            <span className="quiet">{changes.map(({ path }) => path).join(", ")}</span>
            <span className="faint">{version}</span>
          </li>
        ))}
      </ol>
    </Panel>
  );
}
