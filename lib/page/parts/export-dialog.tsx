import { Dialog } from "@base-ui/react/dialog";
import { useEffect, useRef, useState } from "react";
import { numberText } from "../data/amounts.ts";
import {
  type Exported,
  type ExportFormat,
  type ExportList,
  exportRows,
  fileName,
  fileOf,
  nothingYet,
  rowsMax,
} from "../data/export/export-rows.ts";
import { sentenceOf } from "./answer-state.tsx";
import { CopyAs } from "./copy-as.tsx";
import "../look/dialog.css";

interface ExportButtonProps<Item extends object> {
  list: ExportList<Item>;
  /** The same list as commands. */
  commands: { carillon: string; curl: string };
}

/** Writes all rows of a list into a file, not only those that are loaded. */
export function ExportButton<Item extends object>({ list, commands }: ExportButtonProps<Item>) {
  return (
    <Dialog.Root>
      <Dialog.Trigger className="button">Export …</Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <Dialog.Title className="dialog-title">Export these {list.name}</Dialog.Title>
          <Export list={list} />
          <CopyAs {...commands} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

interface Running {
  format: ExportFormat;
  so: Exported;
  error: Error | null;
  isRunning: boolean;
}

/** Its reading ends with the dialog. */
function Export<Item extends object>({ list }: { list: ExportList<Item> }) {
  const [running, setRunning] = useState<Running | null>(null);
  const stop = useRef<AbortController>(null);
  useEffect(() => () => stop.current?.abort(), []);
  const run = async (format: ExportFormat, begun: Exported) => {
    const controller = new AbortController();
    stop.current = controller;
    let so = begun;
    const show = (error: Error | null, isRunning: boolean) => setRunning({ format, so, error, isRunning });
    show(null, true);
    try {
      await exportRows(list, begun, {
        format,
        signal: controller.signal,
        onProgress: (read) => {
          so = read;
          show(null, true);
        },
      });
      show(null, false);
      save(list, { format, so });
    } catch (error) {
      const isStopped = controller.signal.aborted;
      show(isStopped || !(error instanceof Error) ? null : error, false);
    }
  };
  if (running === null)
    return (
      <>
        <p className="dialog-text">
          All that match, page by page, up to {numberText(rowsMax)} rows. In CSV, a text that a spreadsheet
          would take for a formula gets an apostrophe in front.
        </p>
        <footer>
          <Dialog.Close className="button">Leave it</Dialog.Close>
          <button type="button" className="button" onClick={() => void run("json", nothingYet())}>
            JSON
          </button>
          <button type="button" className="button primary" onClick={() => void run("csv", nothingYet())}>
            CSV
          </button>
        </footer>
      </>
    );
  const { format, so, error, isRunning } = running;
  return (
    <>
      <p role="status">{stateText(running)}</p>
      {error === null ? null : (
        <p className="notice bad" role="alert">
          {sentenceOf(error)}
        </p>
      )}
      <footer>
        {isRunning ? (
          <button type="button" className="button" onClick={() => stop.current?.abort()}>
            Stop
          </button>
        ) : (
          <>
            {so.end === null ? (
              <button type="button" className="button" onClick={() => void run(format, so)}>
                Go on
              </button>
            ) : null}
            <button
              type="button"
              className="button"
              disabled={so.rows === 0}
              onClick={() => save(list, { format, so })}
            >
              {so.end === null ? "Save what is there" : "Save it again"}
            </button>
            <Dialog.Close className="button primary">Close</Dialog.Close>
          </>
        )}
      </footer>
    </>
  );
}

function stateText({ so: { rows, end }, isRunning }: Running): string {
  const read = `${numberText(rows)} rows`;
  if (isRunning) return `${read} …`;
  if (end === "all") return `${read}: all of them. The file is saved.`;
  return end === "limit"
    ? `${read}: the most of one file. There are more; a narrower filter has them.`
    : `Stopped after ${read}.`;
}

/** The browser has taken the file by then. */
const savedMs = 60_000;

function save<Item extends object>(
  list: ExportList<Item>,
  { format, so }: { format: ExportFormat; so: Exported },
): void {
  const url = URL.createObjectURL(fileOf(so, format));
  const link = document.createElement("a");
  link.href = url;
  link.download = fileName(list, { format, at: new Date(), end: so.end });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), savedMs);
}
