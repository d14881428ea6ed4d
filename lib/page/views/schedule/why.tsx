import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useEffect, useState } from "react";
import { explainQuery, jobQuery } from "../../data/one-schedule-queries.ts";
import { quoted } from "../../data/shell-text.ts";
import { serverOffset, wallMinute } from "../../data/zone.ts";
import { useSession } from "../../hooks/session-context.ts";
import { AnswerState } from "../../parts/answer-state.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Sentence } from "../../parts/sentence.tsx";
import { Stages } from "../../parts/stages.tsx";

interface WhyProps {
  name: string;
  /** The instant that is explained. */
  at: string | undefined;
  timezone: string | undefined;
}

/** The explanation of any instant of the schedule. */
export function Why({ name, at, timezone }: WhyProps) {
  const { carillon } = useSession();
  const navigate = useNavigate({ from: "/schedules/$key" });
  const explanation = useQuery({ ...explainQuery(carillon, name, at ?? ""), enabled: at !== undefined });
  const jobId = explanation.data?.job?.id;
  const job = useQuery({ ...jobQuery(carillon, jobId ?? ""), enabled: jobId !== undefined });
  const [typed, setTyped] = useState(at ?? "");
  useEffect(() => setTyped(at ?? ""), [at]);
  const ask = (event: FormEvent) => {
    event.preventDefault();
    void navigate({ search: (before) => ({ ...before, why: typed.trim() }) });
  };
  const data = at === undefined ? undefined : explanation.data;
  return (
    <Panel
      title="Why?"
      note={
        data === undefined ? undefined : `${wallMinute(data.wall)} ${timezone ?? serverOffset(data.wall)}`
      }
    >
      <div className="why">
        <form onSubmit={ask}>
          <label className="hidden" htmlFor="why-at">
            The instant to explain
          </label>
          <input
            id="why-at"
            className="mono"
            spellCheck={false}
            placeholder="e.g. 2026-03-02T09:00:00Z"
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
          <button type="submit" className="button">
            Explain
          </button>
        </form>
        {at === undefined ? <p className="quiet">Choose an instant, or type one.</p> : null}
        {at !== undefined && data === undefined ? (
          <AnswerState
            error={explanation.error}
            isPending={explanation.isPending}
            retry={() => void explanation.refetch()}
          />
        ) : null}
        {data === undefined ? null : (
          <>
            <p className="sentence">
              <Sentence text={data.sentence} of={name} />
            </p>
            {data.note === undefined ? null : <p className="quiet">{data.note}</p>}
            {job.data === undefined ? null : <Stages job={job.data} />}
            <CopyButton text={`carillon explain ${quoted(name)} --at ${data.at}`} />
          </>
        )}
      </div>
    </Panel>
  );
}
