import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { limitsQuery } from "../../data/limit-queries.ts";
import { moreOf } from "../../data/more.ts";
import { useMay } from "../../data/token-query.ts";
import { useRefreshMs } from "../../hooks/live.tsx";
import { useSession } from "../../hooks/session-context.ts";
import { AnswerState } from "../../parts/answer-state.tsx";
import { EditLimits } from "./edit-limits.tsx";
import { LimitTable } from "./limit-table.tsx";
import { TargetForm } from "./target-form.tsx";
import "../../look/tables.css";
import "../../look/more.css";

const refreshMs = 10_000;

/** The limits of targets, and how many of their jobs run and wait. */
export function LimitsView() {
  const { carillon } = useSession();
  const { target } = useSearch({ from: "/limits" });
  const navigate = useNavigate({ from: "/limits" });
  const mayEdit = useMay("putLimits");
  const pages = useInfiniteQuery({ ...limitsQuery(carillon), refetchInterval: useRefreshMs(refreshMs) });
  const open = (chosen: string | undefined) =>
    void navigate({ search: (before) => ({ ...before, target: chosen }), replace: true });
  return (
    <>
      <header className="title">
        <h1>Limits</h1>
        <p className="quiet">of targets: how many of their jobs run at once, and start per unit of time</p>
      </header>
      {mayEdit ? <TargetForm onOpen={open} /> : null}
      <AnswerState error={pages.error} isPending={pages.isPending} retry={() => void pages.refetch()} />
      {pages.data === undefined ? null : (
        <LimitTable
          limits={pages.data.pages.flatMap(({ items }) => items)}
          {...moreOf(pages)}
          onEdit={mayEdit ? open : null}
        />
      )}
      {mayEdit ? <EditLimits target={target} onClose={() => open(undefined)} /> : null}
    </>
  );
}
