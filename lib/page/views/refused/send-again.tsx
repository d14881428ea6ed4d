import { useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import type { Preview } from "../../../client/time.ts";
import type { RefusedCommand, RefusedSource } from "../../data/refused-queries.ts";
import { useMay } from "../../data/token-query.ts";
import { useSession } from "../../hooks/session-context.ts";
import { useAction } from "../../hooks/use-action.ts";
import { sentenceOf } from "../../parts/answer-state.tsx";
import { Instant } from "../../parts/time/instant.tsx";
import { operationText, readOperation, sendOperation } from "./edited-command.ts";
import { ForgetCommand, forgetCommand } from "./forget-command.tsx";

interface SendAgainProps {
  of: RefusedSource;
  command: RefusedCommand;
}

const rowsMax = 24;

/** The text of a refused command, to be mended, checked and sent again. */
export function SendAgain({ of, command }: SendAgainProps) {
  const { carillon } = useSession();
  const queryClient = useQueryClient();
  const id = useId();
  const original = operationText(command.command);
  const [text, setText] = useState(original);
  const mayRetry = useMay("retryDeadCommand") && command.isRetriable;
  const maySend = useMay("batchSchedules");
  const mayForget = useMay(of === "queue" ? "deleteDeadCommand" : "deleteInboxError");
  const onSettled = () => queryClient.invalidateQueries();
  const checking = useAction({
    mutationFn: () => {
      const { put } = readOperation(text);
      if (put === undefined) throw new Error("Only a put has runs to be shown.");
      return carillon.schedules.preview({ ...put, n: 3 });
    },
  });
  const sending = useAction({
    mutationFn: async () => {
      const done = await sendOperation(carillon, readOperation(text));
      if (mayForget) await forgetCommand(carillon, of, command.id);
      return done;
    },
    onSettled,
  });
  const retrying = useAction({
    mutationFn: async () => {
      const { change, key } = await carillon.commands.retry(command.id);
      return `${key}: ${change}.`;
    },
    onSettled,
  });
  const isBusy = sending.isPending || retrying.isPending || checking.isPending;
  const error = sending.error ?? retrying.error ?? checking.error;
  return (
    <>
      <label htmlFor={id} className="hidden">
        The command
      </label>
      <textarea
        id={id}
        className="command-text"
        spellCheck={false}
        rows={Math.min(rowsMax, text.split("\n").length + 1)}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      {text.includes('"***"') ? (
        <p className="quiet">Credentials are shown as ***; where the schedule has them already, they stay.</p>
      ) : null}
      {error === null ? null : (
        <p className="notice bad" role="alert">
          {sentenceOf(error)}
        </p>
      )}
      {checking.data === undefined ? null : <Checked preview={checking.data} />}
      {sending.data === undefined ? null : <p role="status">{sending.data}</p>}
      {retrying.data === undefined ? null : <p role="status">{retrying.data}</p>}
      <div className="send-again">
        <button type="button" className="button" disabled={isBusy} onClick={() => checking.act()}>
          Check when it would run
        </button>
        {maySend ? (
          <button
            type="button"
            className={`button ${text === original ? "" : "primary"}`}
            disabled={isBusy || text === original}
            title="It counts as sent now: it goes over every older command and edit of its key."
            onClick={() => sending.act()}
          >
            Send the mended text
          </button>
        ) : null}
        {mayRetry ? (
          <button
            type="button"
            className="button"
            disabled={isBusy || text !== original}
            title="It keeps its own time: a newer command for its key wins."
            onClick={() => retrying.act()}
          >
            Retry as it is
          </button>
        ) : null}
        {mayForget ? <ForgetCommand of={of} id={command.id} /> : null}
      </div>
    </>
  );
}

function Checked({ preview }: { preview: Preview }) {
  return (
    <div className="notice" role="status">
      <p>
        {preview.cadenceText} ({preview.timezone})
        {preview.occurrences.length === 0 ? "; it would not run any more" : "; next "}
        {preview.occurrences.map((at, place) => (
          <span key={at}>
            {place === 0 ? "" : ", "}
            <Instant at={at} />
          </span>
        ))}
      </p>
      {preview.warnings.map((warning) => (
        <p key={warning}>{warning}</p>
      ))}
    </div>
  );
}
