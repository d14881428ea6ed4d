import { AlertDialog } from "@base-ui/react/alert-dialog";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useId, useRef, useState } from "react";
import { useAction } from "../../hooks/use-action.ts";
import { sentenceOf } from "../answer-state.tsx";
import { onDoneClick } from "./done-click.ts";
import { Leave } from "./leave.tsx";
import { Progress, type ProgressProps } from "./progress.tsx";
import "../../look/dialog.css";

export interface Acting<Preview> {
  /** The preview that the reader confirmed. */
  seen: Preview;
  reason: string;
  progress(so: ProgressProps): void;
  isStopped(): boolean;
}

export interface ConfirmProps<Preview> {
  /** The text of the button that opens the dialog; it ends with an ellipsis. */
  button: string;
  title: string;
  /** Asks the server for the effect of the action. Nothing is changed. */
  preview(signal: AbortSignal): Promise<Preview>;
  /** Identifies the preview: the action and its filter. */
  previewKey: readonly unknown[];
  describe(preview: Preview): ReactNode;
  /** The button that acts, such as `Retry 163 jobs`. Null where there is nothing to do. */
  verb(preview: Preview): string | null;
  /** Does it, and returns a sentence on what was done. `progress` reports on the way. */
  act(options: Acting<Preview>): Promise<string>;
  /** The action asks `isStopped` between its parts, and ends there: then a button stops it. */
  isStoppable?: boolean;
  /** Shown with the sentence on what was done. */
  outcome?: ReactNode;
  /** A link that leads on once it is done, to a view without this dialog. */
  next?: ReactNode;
  isDangerous?: boolean;
  /** There is nothing to act on. */
  isDisabled?: boolean;
  /** The API takes no reason for the action. */
  hasNoReason?: boolean;
  /** Fields that the action needs besides the reason. The caller keeps their values. */
  fields?: ReactNode;
  /** Why the fields cannot be used as they are: then the button says so, and does nothing. */
  fieldFault?: string | undefined;
  onOpenChange?: ((isOpen: boolean) => void) | undefined;
}

type Phase = "asking" | "acting" | "done" | "failed";

/** A button whose action is shown, counted by the server, before it is done. */
export function Confirm<Preview>(props: ConfirmProps<Preview>) {
  const queryClient = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const [phase, setPhase] = useState<Phase>("asking");
  const popup = useRef<HTMLDivElement>(null);
  // Without scrolling: the count may have come already, and is read from its beginning.
  const focusFirst = () => {
    popup.current
      ?.querySelector<HTMLElement>("input, select, textarea, button")
      ?.focus({ preventScroll: true });
    return false;
  };
  const change = (opens: boolean) => {
    // Closed in the middle, the dialog could not say what was done and what was not.
    if (phase === "acting") return;
    setOpen(opens);
    props.onOpenChange?.(opens);
    // Not before: with its subject the button may go, and with it the sentence on what was done.
    if (!opens && phase !== "asking") void queryClient.invalidateQueries();
    setPhase("asking");
  };
  return (
    <AlertDialog.Root open={isOpen} onOpenChange={change}>
      <AlertDialog.Trigger className="button" disabled={props.isDisabled === true}>
        {props.button}
      </AlertDialog.Trigger>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className="backdrop" />
        <AlertDialog.Popup ref={popup} className="dialog" initialFocus={focusFirst}>
          <AlertDialog.Title className="dialog-title">
            {phase === "done" ? "Done" : props.title}
          </AlertDialog.Title>
          <Question {...props} onPhase={setPhase} />
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}

/** The content exists only while the dialog is open, so each opening asks the server again. */
function Question<Preview>({
  preview,
  previewKey,
  describe,
  verb,
  act,
  isStoppable,
  isDangerous,
  hasNoReason,
  fields,
  fieldFault,
  outcome,
  next,
  onPhase,
}: ConfirmProps<Preview> & { onPhase(phase: Phase): void }) {
  const reasonId = useId();
  const [reason, setReason] = useState("");
  const [progress, setProgress] = useState<ProgressProps | null>(null);
  const [isStopping, setStopping] = useState(false);
  // Read by an action that has begun before the press.
  const stopped = useRef(false);
  const [isRefused, setRefused] = useState(false);
  const seen = useQuery({
    queryKey: ["preview", ...previewKey],
    queryFn: ({ signal }) => preview(signal),
    staleTime: 0,
    gcTime: 0,
  });
  const action = useAction({
    mutationFn: (confirmed: Preview) =>
      act({ seen: confirmed, reason, progress: setProgress, isStopped: () => stopped.current }),
    onMutate: () => {
      stopped.current = false;
      setStopping(false);
      onPhase("acting");
    },
    onSuccess: () => onPhase("done"),
    onError: () => onPhase("failed"),
  });
  const doing = seen.data === undefined ? null : verb(seen.data);
  if (action.isSuccess)
    return (
      <>
        <p role="status">{action.data}</p>
        {outcome}
        <footer>
          {next}
          <AlertDialog.Close className="button primary" onClick={onDoneClick}>
            Close
          </AlertDialog.Close>
        </footer>
      </>
    );
  const error = action.error ?? seen.error;
  const press = () => {
    if (doing === null || seen.data === undefined) return;
    if (fieldFault === undefined) action.act(seen.data);
    else setRefused(true);
  };
  return (
    <form
      // A field says itself what is wrong with it; the browser would only refuse to go on.
      noValidate
      // Enter in a field does what the button does.
      onSubmit={(event) => {
        event.preventDefault();
        press();
      }}
    >
      <div className="dialog-text">
        {seen.isPending ? <p aria-busy="true">The server counts …</p> : null}
        {seen.data === undefined ? null : describe(seen.data)}
      </div>
      {error === null ? null : (
        <p className="notice bad" role="alert">
          {sentenceOf(error)}
        </p>
      )}
      {progress === null ? null : <Progress {...progress} />}
      {fields}
      {hasNoReason === true ? null : (
        <label htmlFor={reasonId} className="dialog-reason">
          Reason, for the audit
          <input id={reasonId} value={reason} onChange={(event) => setReason(event.target.value)} />
        </label>
      )}
      {isRefused && fieldFault !== undefined ? (
        <p className="notice bad" role="alert">
          {fieldFault}
        </p>
      ) : null}
      <footer>
        {action.isPending && isStoppable === true ? (
          <button
            type="button"
            className="button"
            disabled={isStopping}
            onClick={({ detail }) => {
              // It stands where the second click of a double click on its neighbour may fall.
              if (detail > 1) return;
              stopped.current = true;
              setStopping(true);
            }}
          >
            {isStopping ? "Stopping …" : "Stop"}
          </button>
        ) : (
          <Leave isBusy={action.isPending} />
        )}
        <button
          type="submit"
          className={`button ${isDangerous === true ? "danger" : "primary"}`}
          disabled={doing === null || action.isPending}
        >
          {action.isPending ? "Working …" : (doing ?? (seen.isPending ? "Counting …" : "Nothing to do"))}
        </button>
      </footer>
    </form>
  );
}
