import { useState } from "react";
import type { BulkPreview, SchedulePatch, Selection } from "../../../client/schedule.ts";
import { amountText } from "../../data/amounts.ts";
import { changeAll, changingText, doneText } from "../../data/bulk/change-all.ts";
import { useSession } from "../../hooks/session-context.ts";
import { Confirm } from "../../parts/dialog/confirm.tsx";
import { Instant } from "../../parts/time/instant.tsx";

interface PatchManyProps {
  selection: Selection;
  what: string;
}

const begin = '{\n  "spread": "5m"\n}';

/** Changes some fields of the selected schedules. The server tries the change on the first of them. */
export function PatchMany({ selection, what }: PatchManyProps) {
  const { carillon } = useSession();
  const [text, setText] = useState(begin);
  const [tried, setTried] = useState<SchedulePatch | null>(null);
  const patch = patchOf(text);
  const isTried = JSON.stringify(patch) === JSON.stringify(tried);
  return (
    <Confirm<BulkPreview | null>
      button={`Change ${what} …`}
      title="Change these schedules?"
      previewKey={["bulk", selection, "patch", tried]}
      preview={async (signal) =>
        tried === null
          ? null
          : carillon.schedules.tryMany({ verb: "patch", ...selection, patch: tried }, { signal })
      }
      describe={(seen) =>
        seen === null ? <p>Write the fields, then see what they would change.</p> : <Tried preview={seen} />
      }
      fields={
        <div className="patch">
          <label className="dialog-reason">
            Fields to change, as JSON; null restores a default
            <textarea
              rows={6}
              spellCheck={false}
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          </label>
          <button
            type="button"
            className="button"
            disabled={patch === null || isTried}
            onClick={() => setTried(patch)}
          >
            Show what changes
          </button>
          {patch === null ? <p className="quiet">This is not JSON yet.</p> : null}
        </div>
      }
      verb={(seen) =>
        seen === null || !isTried || (seen.count === 0 && !seen.more)
          ? null
          : `Change ${amountText(seen, "schedule")}`
      }
      isStoppable
      act={async ({ reason, seen, progress, isStopped }) => {
        if (seen === null || tried === null) return "Nothing was tried, so nothing is changed.";
        const action = { verb: "patch", ...selection, patch: tried } as const;
        const total = await changeAll(carillon, {
          action: reason === "" ? action : { ...action, reason },
          onPart: (done) => progress(changingText(done, seen, "changed")),
          isStopped,
        });
        return doneText(total, "changed");
      }}
    />
  );
}

/** The patch of a text, whose fields the API checks. Null while the text is no JSON. */
function patchOf(text: string): SchedulePatch | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const timesShown = 2;

/** The next runs of the first schedules, before and after. */
function Tried({ preview }: { preview: BulkPreview }) {
  return (
    <>
      <p>
        Changed: <b>{amountText(preview, "schedule")}</b>. The first of them:
      </p>
      <ul>
        {preview.samples.map(({ key, changes, refused }) => (
          <li key={key}>
            <span className="mono">{key}</span>
            {refused === undefined ? null : <b> refused: {refused}</b>}
            {changes === undefined ? null : (
              <>
                :{" "}
                {changes.before.join() === changes.after.join() ? (
                  <>
                    occurrences stay at <Times instants={changes.after} />
                  </>
                ) : (
                  <>
                    <Times instants={changes.before} /> → <Times instants={changes.after} />
                  </>
                )}
              </>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

function Times({ instants }: { instants: readonly string[] }) {
  if (instants.length === 0) return "no run";
  return instants.slice(0, timesShown).map((at, place) => (
    <span key={at}>
      {place === 0 ? "" : ", "}
      <Instant at={at} />
    </span>
  ));
}
