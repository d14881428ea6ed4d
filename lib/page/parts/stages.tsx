import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Job } from "../../client/job.ts";
import type { Outage } from "../../client/stats.ts";
import { spanText } from "../data/amounts.ts";
import { instantsOf, type Line, linesOf } from "../data/job/attempt-lines.ts";
import { outagesInQuery, outageWords } from "../data/outage-queries.ts";
import { clockText } from "../data/time/zone.ts";
import { useMay } from "../data/token-query.ts";
import { useSession } from "../hooks/session-context.ts";
import { useNow } from "../hooks/use-now.ts";
import { useZone } from "../hooks/use-zone.ts";
import { LogsLink } from "./logs-link.tsx";

/** A pause of this length before a stage is marked. */
const slowMs = 1_000;

/** The attempts of a job, each from its plan to its settling, with the outages on the way. */
export function Stages({ job }: { job: Job }) {
  const { carillon } = useSession();
  const mayRead = useMay("listOutages");
  const lines = linesOf(job);
  const due = Date.parse(job.dueAt);
  const instants = lines.flatMap(instantsOf);
  const to = lines.some(({ isOpen }) => isOpen) ? undefined : new Date(Math.max(due, ...instants) + 1);
  const outages = useQuery({
    ...outagesInQuery(carillon, {
      from: new Date(Math.min(due, ...instants)).toISOString(),
      to: to?.toISOString(),
    }),
    enabled: mayRead && lines.length > 0,
  });
  return (
    <ol className="attempts">
      {lines.map((line, place) => (
        <li key={line.title}>
          {lines.length === 1 && !line.isOpen ? null : (
            <p className="quiet">
              {line.title} {lines.length === 1 ? null : <LogsLink job={job} lines={[line]} />}
            </p>
          )}
          <AttemptLine line={line} due={due} isFirst={place === 0} outages={outages.data ?? []} />
        </li>
      ))}
    </ol>
  );
}

interface LineProps {
  line: Line;
  due: number;
  /** Its time begins when the job was due, even if the job was made later. */
  isFirst: boolean;
  outages: readonly Outage[];
}

function AttemptLine({ line, due, isFirst, outages }: LineProps) {
  const now = useNow();
  const instants = instantsOf(line);
  const begin = Math.min(...instants, ...(isFirst || instants.length === 0 ? [due] : []));
  const end = line.isOpen ? now : Math.max(...instants);
  const drawn = outages.filter(
    ({ from, to }) => Date.parse(from) <= end && (to === null || Date.parse(to) >= begin),
  );
  const placeOf = ({ from }: Outage) => {
    const after = line.stages.findLastIndex(({ at }) => at !== null && Date.parse(at) <= Date.parse(from));
    return after + 1;
  };
  const before = Map.groupBy(drawn, placeOf);
  const last = before.get(line.stages.length) ?? [];
  return (
    <ol className="stages">
      {line.stages.flatMap((stage, place) => [
        ...(before.get(place) ?? []).map((outage) => <Away key={outage.id} outage={outage} />),
        <Reached key={stage.name} line={line} place={place} due={due} />,
      ])}
      {last.map((outage) => (
        <Away key={outage.id} outage={outage} />
      ))}
    </ol>
  );
}

function Reached({ line: { stages, hasFailed }, place, due }: { line: Line; place: number; due: number }) {
  const zone = useZone();
  const { name, at } = stages[place] ?? { name: "", at: null };
  const before = stages.slice(0, place).findLast((stage) => stage.at !== null)?.at;
  // Jobs are made, sent and claimed ahead of their due time: that wait is intended.
  const isAhead = before != null && Date.parse(before) < due;
  const waited = at === null || before == null ? 0 : Date.parse(at) - (isAhead ? due : Date.parse(before));
  // Where a failed attempt ended: the target gave no good answer.
  const isFailed = hasFailed && name === "target ended";
  return (
    <li className={`stage${waited > slowMs ? " slow" : ""}${isFailed ? " failed" : ""}`}>
      <b>{at === null ? "–" : clockText(Date.parse(at), zone)}</b>
      {name}
      {waited > slowMs ? (
        <span> {isAhead ? `${spanText(waited)} after it was due` : `after ${spanText(waited)}`}</span>
      ) : null}
    </li>
  );
}

/** An outage on the way of the job. */
function Away({ outage: { what, from, to } }: { outage: Outage }) {
  const zone = useZone();
  const began = Date.parse(from);
  return (
    <li className="stage outage">
      <b>{clockText(began, zone)}</b>
      <Link to="/outages" className="link">
        outage
      </Link>
      <span>
        {" "}
        {outageWords[what].toLowerCase()},{" "}
        {to === null ? "lasts still" : `for ${spanText(Date.parse(to) - began)}`}
      </span>
    </li>
  );
}
