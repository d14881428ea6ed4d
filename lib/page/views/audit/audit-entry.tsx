import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { AuditEntry, Origin } from "../../../client/audit.ts";
import { filterText } from "../../data/text/filter-words.ts";
import { Changes } from "../../parts/changes.tsx";
import { Sentence } from "../../parts/sentence.tsx";
import { Instant } from "../../parts/time/instant.tsx";
import { auditSentence, fieldsOf, keyOfEntry } from "./audit-sentence.ts";

/** One recorded change as a sentence; opened, with its values and its origin. */
export function AuditRow({ entry }: { entry: AuditEntry }) {
  const [isOpen, setOpen] = useState(false);
  const { verb, rest } = auditSentence(entry);
  return (
    <li>
      <div className="audit-line">
        <Instant at={entry.at} />
        <span>
          <b>{entry.actor}</b> {verb} <Subject entry={entry} />
          {rest === "" ? null : (
            <span className="quiet">
              , <Sentence text={rest} />
            </span>
          )}
          {entry.action.startsWith("jobs.") ? <Fate of={entry} /> : null}
        </span>
        <button type="button" className="unfold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <span className="hidden">Show </span>
          {changedText(entry)}
        </button>
      </div>
      {isOpen ? (
        <div className="audit-more">
          {entry.changes.length > 0 ? <Changes changes={entry.changes} /> : <Detail entry={entry} />}
          <p className="quiet">{originText(entry)}</p>
        </div>
      ) : null}
    </li>
  );
}

/** Leads to the jobs of a retry or a cancel, in the states that they have now. */
function Fate({ of }: { of: AuditEntry }) {
  return (
    <>
      {": "}
      <Link to="/jobs" search={{ entry: of.id }} className="link">
        what became of them
      </Link>
    </>
  );
}

function Subject({ entry }: { entry: AuditEntry }) {
  const key = keyOfEntry(entry);
  const { action, subject } = entry;
  if (key !== null)
    return (
      <Link to="/schedules/$key" params={{ key }} className="mono link">
        {subject}
      </Link>
    );
  if (action.startsWith("group."))
    return (
      <Link to="/groups/$group" params={{ group: subject }} className="mono link">
        {subject}
      </Link>
    );
  if (action.startsWith("tag."))
    return (
      <Link to="/schedules" search={{ tag: subject }} className="mono link">
        {subject}
      </Link>
    );
  if (action.startsWith("calendar."))
    return (
      <Link to="/calendars/$name" params={{ name: subject }} className="mono link">
        {subject}
      </Link>
    );
  // The others are the names of targets and tokens.
  if (action.startsWith("jobs.") || action.startsWith("schedules."))
    return <Sentence text={filterText(subject)} />;
  return <span className="mono">{subject}</span>;
}

/** The values of calendars, limits, holds and tokens before and after. */
function Detail({ entry }: { entry: AuditEntry }) {
  const { before, ...after } = fieldsOf(entry.detail);
  if (Object.keys(after).length === 0 && before === undefined) return null;
  return <Changes changes={[{ path: "", before: before ?? null, after }]} />;
}

function changedText({ changes }: AuditEntry): string {
  if (changes.length === 0 || changes[0]?.path === "") return "details";
  const [first, second] = changes;
  const named = [first, second].flatMap((change) => (change === undefined ? [] : [change.path]));
  return changes.length > 2 ? `${named.join(", ")} and ${changes.length - 2} more` : named.join(", ");
}

const ways: Readonly<Record<Origin["via"], string>> = {
  api: "through the API",
  queue: "through the queue",
  sql: "in SQL",
  handler: "by a handler",
};

function originText({ origin, id, version }: AuditEntry): string {
  const parts =
    origin === null
      ? ["by Carillon itself"]
      : [
          ways[origin.via],
          origin.prefix === undefined ? null : `with the prefix ${origin.prefix}`,
          origin.agent === undefined ? null : `with ${origin.agent}`,
          origin.ip === undefined ? null : `from ${origin.ip}`,
          origin.request === undefined ? null : `request ${origin.request}`,
        ];
  const all = [...parts, version === null ? null : `version ${version}`, `entry ${id}`];
  return all.filter((part) => part !== null).join(", ");
}
