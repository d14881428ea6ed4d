import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Version } from "../../../client/time.ts";
import { versionsQuery } from "../../data/one-schedule-queries.ts";
import { useMay } from "../../data/token-query.ts";
import { useSession } from "../../hooks/session-context.ts";
import { Actor } from "../../parts/actor.tsx";
import { AnswerState } from "../../parts/answer-state.tsx";
import { Changes } from "../../parts/changes.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Instant } from "../../parts/time/instant.tsx";
import { ComparedVersions } from "./compared-versions.tsx";
import { Restore } from "./restore.tsx";
import "../../look/runs.css";

/** The page has one family of words for holds. */
const changeWords: Readonly<Partial<Record<Version["change"], string>>> = {
  paused: "held",
  resumed: "released",
};

interface VersionsProps {
  name: string;
  /** Null if the schedule is deleted; undefined while that is not known. */
  current: number | null | undefined;
}

/** The versions with what each changed; two of them compared; and an old one restored. */
export function Versions({ name, current }: VersionsProps) {
  const { carillon } = useSession();
  const versions = useQuery(versionsQuery(carillon, name));
  const mayRestore = useMay("restoreVersion");
  const mayAudit = useMay("getAudit");
  const items = versions.data?.items ?? [];
  return (
    <Panel title="Versions" note="the newest first">
      <AnswerState
        error={versions.error}
        isPending={versions.isPending}
        retry={() => void versions.refetch()}
      />
      <ComparedVersions versions={items} />
      <ol className="past versions">
        {items.map((version) => (
          <li key={`${version.version} ${version.change} ${version.at}`}>
            <Instant at={version.at} />
            <span>
              <b>{version.version}</b> {changeWords[version.change] ?? version.change} by{" "}
              <Actor name={version.by} />
            </span>
            <ChangedFields version={version} />
            {mayRestore && isRestorable(version, current) ? (
              <Restore name={name} version={version.version} current={current ?? null} />
            ) : (
              <span />
            )}
          </li>
        ))}
      </ol>
      {mayAudit ? (
        <p className="rows-none">
          The audit has{" "}
          <Link to="/audit" search={{ subject: name }} className="link">
            every change of this key
          </Link>
          , also of deleted schedules that had it before.
        </p>
      ) : null}
    </Panel>
  );
}

function isRestorable({ version, spec }: Version, current: VersionsProps["current"]): boolean {
  if (current === undefined) return false;
  return current === null ? spec !== undefined : version < current;
}

function ChangedFields({ version: { changes } }: { version: Version }) {
  const [isOpen, setOpen] = useState(false);
  if (changes.length === 0) return <span />;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="quiet">{changes.map(({ path }) => path).join(", ")}</summary>
      {isOpen ? <Changes changes={changes} /> : null}
    </details>
  );
}
