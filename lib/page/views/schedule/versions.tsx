import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { RestorePreview, Version } from "../../../client/time.ts";
import { versionsQuery } from "../../data/one-schedule-queries.ts";
import { useMay } from "../../data/token-query.ts";
import { useSession } from "../../hooks/session-context.ts";
import { AnswerState } from "../../parts/answer-state.tsx";
import { Changes } from "../../parts/changes.tsx";
import { Confirm } from "../../parts/dialog/confirm.tsx";
import { Instant } from "../../parts/instant.tsx";
import { Panel } from "../../parts/panel.tsx";
import { ComparedVersions } from "./compared-versions.tsx";
import "../../look/runs.css";

/** The page has one family of words for holds. */
const changeWords: Readonly<Partial<Record<Version["change"], string>>> = {
  paused: "held",
  resumed: "released",
};

/** The versions with what each changed; two of them compared; and an old one restored. */
export function Versions({ name, current }: { name: string; current: number | undefined }) {
  const { carillon } = useSession();
  const versions = useQuery(versionsQuery(carillon, name));
  const mayRestore = useMay("restoreVersion");
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
              <b>{version.version}</b> {changeWords[version.change] ?? version.change} by {version.by}
            </span>
            <ChangedFields version={version} />
            {mayRestore && current !== undefined && version.version < current ? (
              <Restore name={name} version={version.version} current={current} />
            ) : (
              <span />
            )}
          </li>
        ))}
      </ol>
    </Panel>
  );
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

function Restore({ name, version, current }: { name: string; version: number; current: number }) {
  const { carillon } = useSession();
  return (
    <Confirm<RestorePreview>
      button="Restore …"
      title={`Restore version ${version}?`}
      previewKey={["restore", name, version]}
      preview={(signal) => carillon.schedules.tryRestore(name, version, { signal })}
      describe={({ fields, changes: { before, after } }) => (
        <>
          {fields.length === 0 ? (
            <p>Its fields are those of now: nothing would change.</p>
          ) : (
            <Changes changes={fields} />
          )}
          <p>The next runs, before and after:</p>
          <div className="run-list">
            <Runs title="Before" runs={before} />
            <Runs title="After" runs={after} />
          </div>
        </>
      )}
      hasNoReason
      verb={({ fields }) => (fields.length === 0 ? null : `Restore version ${version}`)}
      act={async () => {
        const edited = await carillon.schedules.restore(name, version, { ifMatch: current });
        return `Version ${edited.version} has the fields of version ${version}.`;
      }}
    />
  );
}

function Runs({ title, runs }: { title: string; runs: readonly string[] }) {
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      {runs.length === 0 ? <p className="quiet">No run comes.</p> : null}
      <ol>
        {runs.map((at) => (
          <li key={at}>
            <span />
            <Instant at={at} />
          </li>
        ))}
      </ol>
    </section>
  );
}
