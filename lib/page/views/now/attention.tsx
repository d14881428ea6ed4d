import type { Problem } from "../../../client/stats.ts";
import { countText } from "../../data/amounts.ts";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Sentence } from "../../parts/sentence.tsx";
import { Instant } from "../../parts/time/instant.tsx";
import { SeeLink } from "./see-link.tsx";

/** The mark of each kind: a shape and a word, never colour alone. */
const looks: Readonly<
  Record<Problem["kind"], { word: string; mark: string; look: "bad" | "warn" | "info" }>
> = {
  "no-tick": { word: "Stopped", mark: "■", look: "bad" },
  "foreign-locks": { word: "Blocked", mark: "■", look: "bad" },
  "plan-behind": { word: "Behind", mark: "◷", look: "bad" },
  "no-worker": { word: "Stopped", mark: "■", look: "bad" },
  "late-jobs": { word: "Late", mark: "◷", look: "warn" },
  "backlog-full": { word: "Late", mark: "◷", look: "warn" },
  "move-unfinished": { word: "Moving", mark: "■", look: "bad" },
  "target-full": { word: "Waiting", mark: "◷", look: "warn" },
  "dead-jobs": { word: "Failing", mark: "!", look: "bad" },
  missed: { word: "Missed", mark: "∅", look: "warn" },
  "pulses-lost": { word: "Lost", mark: "∅", look: "warn" },
  outages: { word: "Outage", mark: "⌁", look: "warn" },
  "dead-commands": { word: "Refused", mark: "×", look: "bad" },
  "inbox-errors": { word: "Refused", mark: "×", look: "bad" },
  quarantine: { word: "Set aside", mark: "△", look: "warn" },
  "old-holds": { word: "Held", mark: "‖", look: "info" },
};

export function Attention({ problems }: { problems: readonly Problem[] }) {
  return (
    <Panel title="Needs attention" note="the worst first">
      {problems.length === 0 ? (
        <p className="rows-none">Nothing. Every job has run or waits for its time.</p>
      ) : (
        <ul className="problems">
          {problems.map((problem) => (
            <ProblemRow key={`${problem.kind} ${problem.command}`} problem={problem} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

function ProblemRow({ problem }: { problem: Problem }) {
  const { word, mark, look } = looks[problem.kind];
  return (
    <li data-row>
      <span className={`sort ${look}`}>
        <i aria-hidden="true">{mark}</i>
        {word}
      </span>
      <p>
        <Sentence text={problem.text} />
      </p>
      <span className="quiet since">
        {problem.since === null ? (
          countText(problem.count)
        ) : (
          <>
            {sinceWord(problem.kind)} <Instant at={problem.since} />
          </>
        )}
      </span>
      <span className="problem-actions">
        <CopyButton
          text={problem.command}
          label={
            <>
              Copy as carillon …<span className="hidden">: {problem.text}</span>
            </>
          }
        />
        <SeeLink see={problem.see} about={problem.text} />
      </span>
    </li>
  );
}

/**
 * A missed occurrence is counted in the minute that found it, which may be long after its time. The first
 * death is that of the jobs that are dead still: a retry of older ones makes it later.
 */
function sinceWord(kind: Problem["kind"]): string {
  if (kind === "missed") return "found since";
  return kind === "dead-jobs" ? "oldest from" : "since";
}
