import { useState } from "react";
import { readerZone } from "../../data/time/zone.ts";
import { useZone } from "../../hooks/use-zone.ts";
import { type Draft, setValue } from "./draft/draft.ts";
import { Proposals } from "./proposals.tsx";

/**
 * Says that a new schedule has taken the zone of the screen, which may be a colleague's. It keeps that zone when
 * the screen goes back to the reader's.
 */
export function ScreenZone({ draft }: { draft: Draft }) {
  const zone = useZone();
  const own = readerZone();
  const [begun] = useState(zone);
  const taken = zone === own ? begun : zone;
  if (taken === own || draft.value["timezone"] !== taken) return null;
  return (
    <div className="screen-zone">
      <p className="hint">
        {taken === zone
          ? "This is the zone that you are looking at"
          : "This is the zone that you were looking at"}
        . Your own is {own}.
      </p>
      <Proposals texts={[own]} onUse={(chosen) => setValue(draft, ["timezone"], chosen)} />
    </div>
  );
}
