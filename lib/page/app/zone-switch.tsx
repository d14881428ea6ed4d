import { Dialog } from "@base-ui/react/dialog";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { scheduleQuery } from "../data/one-schedule-queries.ts";
import { readerZone } from "../data/time/zone.ts";
import { useSession } from "../hooks/session-context.ts";
import { useChooseZone } from "../hooks/use-choose-zone.ts";
import { useZone } from "../hooks/use-zone.ts";
import "../look/dialog.css";
import "../look/palette.css";

// Opened by few readers, and its combobox is large.
const ZoneList = lazy(() =>
  import("./zone-list.tsx").then(({ ZoneList: component }) => ({ default: component })),
);

/** The zone of all times on the screen: the reader's, UTC, that of the schedule, or the address's. */
export function ZoneSwitch() {
  const shown = useZone();
  const chooseZone = useChooseZone();
  const [isOpen, setOpen] = useState(false);
  const own = readerZone();
  const ofSchedule = useScheduleZone();
  const choose = (chosen: string) => {
    setOpen(false);
    chooseZone(chosen);
  };
  return (
    <Dialog.Root open={isOpen} onOpenChange={setOpen}>
      <Dialog.Trigger
        className={shown === own ? "zone-button" : "zone-button other"}
        aria-label={`Zone of all times: ${shown}`}
      >
        <span>{shown}</span>
        <svg viewBox="0 0 10 6" width="10" height="6" aria-hidden="true">
          <path d="m1 1 4 4 4-4" />
        </svg>
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="palette zones">
          <Dialog.Title className="hidden">Zone of all times</Dialog.Title>
          <Suspense fallback={<p className="palette-hint">Loading …</p>}>
            <ZoneList shown={shown} own={own} ofSchedule={ofSchedule} onChoose={choose} />
          </Suspense>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/** The zone of the schedule on the screen, which its view has asked for. */
function useScheduleZone(): string | undefined {
  const { carillon } = useSession();
  const { key } = useParams({ strict: false });
  return useQuery({ ...scheduleQuery(carillon, key ?? ""), enabled: false }).data?.timezone;
}
