import { useEffect, useEffectEvent, useState } from "react";
import type { AgendaWindow } from "../../../client/agenda.ts";
import { useZone } from "../../hooks/use-zone.ts";
import type { DraftState } from "../../parts/time/wall-draft.ts";
import { WallField } from "../../parts/time/wall-field.tsx";
import type { AgendaSearch } from "./agenda-search.ts";

interface WindowFieldsProps {
  window: AgendaWindow;
  onChange(changed: Pick<AgendaSearch, "from" | "to">): void;
  /** The fields show another window than the one that is listed. */
  onOutdated(isOutdated: boolean): void;
}

const hint = "Press Enter to apply.";

/** Both ends of the window, on the clocks of the screen's zone. */
export function WindowFields({ window, onChange, onOutdated }: WindowFieldsProps) {
  const zone = useZone();
  const from = new Date(window.from).getTime();
  const to = new Date(window.to).getTime();
  /** An end that was typed for this window, but is not after its begin. */
  const [typed, setTyped] = useState<{ from: number; to: number; end: number }>();
  const refused = typed?.from === from && typed.to === to ? typed.end : null;
  /** The end that moved with the begin. */
  const [moved, setMoved] = useState<number>();
  const [begins, setBegins] = useState<DraftState>("none");
  const [ends, setEnds] = useState<DraftState>("none");
  const isOutdated = begins !== "none" || ends !== "none" || refused !== null;
  const report = useEffectEvent(() => onOutdated(isOutdated));
  // biome-ignore lint/correctness/useExhaustiveDependencies: each change is reported once.
  useEffect(() => report(), [isOutdated]);
  const change = (begin: number, end: number) =>
    onChange({ from: new Date(begin).toISOString(), to: new Date(end).toISOString() });
  return (
    <>
      <WallField
        label={`From (${zone})`}
        at={from}
        isRequired
        hint={hint}
        onState={setBegins}
        onChange={(at) => {
          if (at === undefined) return;
          // The window keeps its length where its begin moves, unless another end is typed already.
          if (refused !== null && refused > at) return change(at, refused);
          setMoved(at + (to - from));
          change(at, at + (to - from));
        }}
      />
      <WallField
        label="To"
        at={refused ?? to}
        isRequired
        hint={hint}
        note={moved === to ? "Moved with the begin." : undefined}
        fault={refused === null ? undefined : "The end must be after the begin."}
        onState={setEnds}
        onChange={(at) => {
          if (at === undefined) return;
          setMoved(undefined);
          setTyped(at > from ? undefined : { from, to, end: at });
          if (at > from) change(from, at);
        }}
      />
    </>
  );
}
