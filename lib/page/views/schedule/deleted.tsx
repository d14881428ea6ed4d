import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { targetText } from "../../data/document/target-text.ts";
import { versionsQuery } from "../../data/one-schedule-queries.ts";
import { useMay } from "../../data/token-query.ts";
import { useSession } from "../../hooks/session-context.ts";
import { Panel } from "../../parts/panel.tsx";
import { Restore } from "./restore.tsx";

/** The last rule, zone and target of a deleted schedule. */
export function Deleted({ name }: { name: string }) {
  const { carillon } = useSession();
  const versions = useQuery(versionsQuery(carillon, name));
  const mayMake = useMay("createSchedule");
  const mayRestore = useMay("restoreVersion");
  const last = versions.data?.items.find(({ spec }) => spec !== undefined);
  if (last?.spec === undefined) return null;
  const { when, timezone, target } = last.spec;
  return (
    <Panel title="Before it was deleted" note={`version ${last.version}`}>
      <dl className="definition">
        <div>
          <dt className="mono">when</dt>
          <dd className="mono">{[when].flat().join(", ")}</dd>
        </div>
        <div>
          <dt className="mono">timezone</dt>
          <dd className="mono">{timezone}</dd>
        </div>
        <div>
          <dt className="mono">target</dt>
          <dd className="mono">{target === null ? "cannot be read" : targetText(target)}</dd>
        </div>
      </dl>
      <div className="rows-none head-actions">
        {mayRestore ? <Restore name={name} version={last.version} current={null} /> : null}
        <p>
          Its versions and runs are kept until they are purged.{" "}
          {mayMake ? (
            <>
              The key is free:{" "}
              <Link className="link" to="/new" search={{ key: name }}>
                a different schedule can have it
              </Link>
              .
            </>
          ) : null}
        </p>
      </div>
    </Panel>
  );
}
