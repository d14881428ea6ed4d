import { Dialog } from "@base-ui/react/dialog";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import type { LimitsBody, VersionedLimits } from "../../../client/limits.ts";
import { numberText } from "../../data/amounts.ts";
import { limitQuery } from "../../data/limit-queries.ts";
import { useSession } from "../../hooks/session-context.ts";
import { useAction } from "../../hooks/use-action.ts";
import { AnswerState, sentenceOf } from "../../parts/answer-state.tsx";
import { Leave } from "../../parts/dialog/leave.tsx";
import "../../look/dialog.css";

interface EditLimitsProps {
  target: string | undefined;
  onClose(): void;
}

/** The dialog in which the limits of a target are changed; open while the address names the target. */
export function EditLimits({ target, onClose }: EditLimitsProps) {
  return (
    <Dialog.Root open={target !== undefined} onOpenChange={(isOpen) => (isOpen ? undefined : onClose())}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <Dialog.Title className="dialog-title">
            Limits of <span className="mono">{target}</span>
          </Dialog.Title>
          {target === undefined ? null : <Loaded target={target} onClose={onClose} />}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function Loaded({ target, onClose }: { target: string; onClose(): void }) {
  const { carillon } = useSession();
  const read = useQuery(limitQuery(carillon, target));
  if (read.data === undefined)
    return (
      <>
        <AnswerState error={read.error} isPending={read.isPending} retry={() => void read.refetch()} />
        <footer>
          <Leave isBusy={false} />
        </footer>
      </>
    );
  return <LimitsForm key={read.data.version} limits={read.data} onClose={onClose} />;
}

/** `body` null: clear them. */
type Change = LimitsBody | null;

function LimitsForm({ limits, onClose }: { limits: VersionedLimits; onClose(): void }) {
  const { carillon } = useSession();
  const queryClient = useQueryClient();
  const [concurrency, setConcurrency] = useState(String(limits.concurrency ?? ""));
  const [perTeam, setPerTeam] = useState(String(limits.perTeam ?? ""));
  const [rate, setRate] = useState(limits.rate ?? "");
  const { target, version: ifMatch } = limits;
  const saving = useAction({
    mutationFn: async (body: Change) => {
      if (body === null) await carillon.limits.delete(target, { ifMatch });
      else await carillon.limits.put(target, body, { ifMatch });
    },
    onSuccess: onClose,
    // After a conflict the form shows the limits of the other edit.
    onSettled: () => queryClient.invalidateQueries({ queryKey: ["limits"] }),
  });
  const isChanged =
    concurrency !== String(limits.concurrency ?? "") ||
    perTeam !== String(limits.perTeam ?? "") ||
    rate !== (limits.rate ?? "");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    saving.act({
      concurrency: concurrency === "" ? null : Number(concurrency),
      perTeam: perTeam === "" ? null : Number(perTeam),
      rate: rate === "" ? null : rate,
    });
  };
  return (
    <form onSubmit={submit} className="dialog-form">
      <p>
        {numberText(limits.running)} of its jobs run now, and {numberText(limits.waiting)} wait. Running jobs
        go on; a lower limit holds for those that start from then on.
      </p>
      <label>
        Jobs at once (empty: no limit)
        <input
          type="number"
          min={1}
          value={concurrency}
          onChange={(event) => setConcurrency(event.target.value)}
        />
      </label>
      <label>
        Of one team at once (empty: all of these)
        <input type="number" min={1} value={perTeam} onChange={(event) => setPerTeam(event.target.value)} />
      </label>
      <label>
        Starts per unit of time (empty: no limit)
        <input value={rate} placeholder="e.g. 100/m" onChange={(event) => setRate(event.target.value)} />
      </label>
      {saving.error === null ? null : (
        <p className="notice bad" role="alert">
          {sentenceOf(saving.error)}
        </p>
      )}
      <footer>
        {limits.setAt === null ? null : (
          <button
            type="button"
            className="button apart"
            disabled={saving.isPending}
            onClick={() => saving.act(null)}
          >
            Clear{definedText(limits)}
          </button>
        )}
        <Leave isBusy={saving.isPending} />
        <button type="submit" className="button primary" disabled={saving.isPending || !isChanged}>
          {saving.isPending ? "Working …" : "Set the limits"}
        </button>
      </footer>
    </form>
  );
}

/** The limits that apply again once these are cleared. */
function definedText({ defined: { concurrency, rate } }: VersionedLimits): string {
  const parts = [concurrency === null ? null : `${numberText(concurrency)} at once`, rate];
  const given = parts.filter((part) => part !== null).join(", ");
  return given === "" ? "" : `: ${given}, as the handler says`;
}
