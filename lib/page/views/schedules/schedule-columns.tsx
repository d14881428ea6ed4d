import { Link } from "@tanstack/react-router";
import { Fragment } from "react";
import type { LastRun } from "../../../client/agenda.ts";
import type { ScheduleSummary } from "../../../client/schedule.ts";
import { spanText } from "../../data/amounts.ts";
import { Sentence } from "../../parts/sentence.tsx";
import { Instant } from "../../parts/time/instant.tsx";
import { OtherZone } from "../../parts/time/other-zone.tsx";
import type { Column } from "../../parts/virtual-table.tsx";

export const keyColumn: Column<ScheduleSummary> = {
  name: "Key",
  className: "key",
  cell: ({ key }) => (
    <Link to="/schedules/$key" params={{ key }} className="mono" data-open>
      {key}
    </Link>
  ),
};

const whenOf = (textOf: (schedule: ScheduleSummary) => string): Column<ScheduleSummary> => ({
  name: "When",
  className: "when",
  cell: (schedule) => (
    <span title={schedule.cadence}>
      <Sentence text={textOf(schedule)} />
    </span>
  ),
});

export const whenColumn = whenOf(({ cadenceText }) => cadenceText);

/** Beside a column of the zone. */
export const whenBesideZoneColumn = whenOf(({ cadenceText, timezone }) =>
  cadenceText.endsWith(`, ${timezone}`) ? cadenceText.slice(0, -`, ${timezone}`.length) : cadenceText,
);

export const zoneColumn: Column<ScheduleSummary> = {
  name: "Zone",
  className: "zone",
  // A long name breaks behind its continent.
  cell: ({ timezone }) =>
    timezone.split(/(?<=\/)/).map((part) => (
      <Fragment key={part}>
        {part}
        <wbr />
      </Fragment>
    )),
};

/** A later start than this is late. */
const onTimeMs = 1_000;

/** How late the newest run began. */
export const latenessColumn = (strips: ReadonlyMap<string, readonly LastRun[]>): Column<ScheduleSummary> => ({
  name: "Lateness",
  className: "late",
  cell: ({ key }) => {
    const late = strips.get(key)?.findLast(({ latenessMs }) => latenessMs !== null)?.latenessMs ?? null;
    if (late === null) return null;
    return late <= onTimeMs ? <span className="quiet">on time</span> : `${spanText(late)} late`;
  },
});

export const nextColumn: Column<ScheduleSummary> = {
  name: "Next run",
  className: "next",
  cell: ({ key, nextAt, holds, timezone }) =>
    nextAt === null ? <NoNext holds={holds} timezone={timezone} /> : <Instant at={nextAt} of={key} />,
};

/** While a schedule is held, its next run depends on the end of the hold. */
function NoNext({ holds, timezone }: Pick<ScheduleSummary, "holds" | "timezone">) {
  const ends = holds.flatMap(({ until }) => until ?? []);
  const [last] = ends.toSorted().slice(-1);
  if (holds.length === 0) return <span className="faint">–</span>;
  return (
    <span className="faint">
      {last === undefined || ends.length < holds.length ? (
        "when released"
      ) : (
        <>
          held until <Instant at={last} />
          <OtherZone than={timezone} />
        </>
      )}
    </span>
  );
}
