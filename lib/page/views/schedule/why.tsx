import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { explainQuery, jobQuery } from "../../data/one-schedule-queries.ts";
import { quoted } from "../../data/text/shell-text.ts";
import { useRefreshMs } from "../../hooks/live.tsx";
import { useSession } from "../../hooks/session-context.ts";
import { useNow } from "../../hooks/use-now.ts";
import { useZone } from "../../hooks/use-zone.ts";
import { AnswerState } from "../../parts/answer-state.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Explained } from "../../parts/explained.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Sentence } from "../../parts/sentence.tsx";
import { Stages } from "../../parts/stages.tsx";
import { occurrenceMeant, typedInstant, writtenInstant } from "./typed-instant.ts";

interface WhyProps {
  name: string;
  /** Whether the address asks for the instant: then the answer is brought onto the screen. */
  isAsked: boolean;
  /** The instant that is explained. */
  at: string | undefined;
}

const refreshMs = 10_000;

/** The explanation of any instant of the schedule. */
export function Why({ name, at, isAsked }: WhyProps) {
  const { carillon } = useSession();
  const navigate = useNavigate({ from: "/schedules/$key" });
  const often = { refetchInterval: useRefreshMs(refreshMs) };
  const explanation = useQuery({
    ...explainQuery(carillon, name, at ?? ""),
    ...often,
    enabled: at !== undefined,
  });
  const jobId = explanation.data?.job?.id;
  const job = useQuery({ ...jobQuery(carillon, jobId ?? ""), ...often, enabled: jobId !== undefined });
  const zone = useZone();
  const now = useNow();
  const [typed, setTyped] = useState(() => writtenInstant(at, zone));
  const [isUnread, setUnread] = useState(false);
  useEffect(() => {
    setTyped(writtenInstant(at, zone));
    setUnread(false);
  }, [at, zone]);
  const queryClient = useQueryClient();
  const ask = async (event: FormEvent) => {
    event.preventDefault();
    const instant = typedInstant(typed, { zone, now });
    setUnread(instant === null);
    if (instant === null) return;
    // Without an answer the view asks again, and says why there is none.
    const found = await queryClient.fetchQuery(explainQuery(carillon, name, instant)).catch(() => undefined);
    const meant = found === undefined ? undefined : occurrenceMeant(typed, found);
    void navigate({ search: (before) => ({ ...before, why: meant ?? instant }) });
  };
  // The answer for another time, beneath the fault of a typed one, would be taken for the answer to it.
  const asked = isUnread ? undefined : at;
  const data = asked === undefined ? undefined : explanation.data;
  const answer = useRef<HTMLDivElement>(null);
  const isAnswered = data !== undefined;
  // On a phone it is below the list of past occurrences.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another instant has another answer.
  useEffect(() => {
    if (isAsked && isAnswered) answer.current?.scrollIntoView({ block: "nearest" });
  }, [isAsked, isAnswered, at]);
  return (
    <Panel title="Why?" note={data === undefined ? undefined : `${writtenInstant(data.at, zone)} ${zone}`}>
      <div ref={answer} className="why">
        <form onSubmit={(event) => void ask(event)}>
          <label className="hidden" htmlFor="why-at">
            The instant to explain
          </label>
          <input
            id="why-at"
            className="mono"
            spellCheck={false}
            placeholder="e.g. 2026-03-02 09:00"
            aria-invalid={isUnread}
            aria-describedby={isUnread ? "why-fault" : undefined}
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
          <button type="submit" className="button">
            Explain
          </button>
        </form>
        {isUnread ? (
          <p id="why-fault" className="field-fault" role="alert">
            This is not a time. Type 09:00 or 2026-03-02 09:00 for a time in {zone}, or an instant such as
            2026-03-02T09:00:00Z.
          </p>
        ) : null}
        {at === undefined && !isUnread ? (
          <p className="quiet">Choose an instant, or type a time, such as 09:00: it is read in {zone}.</p>
        ) : null}
        {asked !== undefined && data === undefined ? (
          <AnswerState
            error={explanation.error}
            isPending={explanation.isPending}
            retry={() => void explanation.refetch()}
          />
        ) : null}
        {data === undefined ? null : (
          <>
            <Explained explanation={data} />
            {data.note === undefined ? null : (
              <p className="quiet">
                <Sentence text={data.note} />
              </p>
            )}
            {job.data === undefined ? null : <Stages job={job.data} />}
            <CopyButton text={`carillon explain ${quoted(name)} --at ${data.at}`} />
          </>
        )}
      </div>
    </Panel>
  );
}
