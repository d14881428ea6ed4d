/** The command line, a file or an environment variable is not valid; nothing was sent. */
export class UsageFault extends Error {
  override readonly name = "UsageFault";
}

/** A question that was not answered with yes. */
export class NotConfirmed extends Error {
  override readonly name = "NotConfirmed";
}

/** Stopped by Ctrl-C. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/** Another caller edited a schedule in between, so nothing was done. */
export class EditedMeanwhile extends Error {
  override readonly name = "EditedMeanwhile";
}

/** Schedules are in another installation, so nothing was done. */
export class MovedAway extends Error {
  override readonly name = "MovedAway";
}

/** The end of a command that does nothing because these schedules cannot be put. */
export function impossibleFault(schedules: readonly { movedTo: string | null }[], text: string): Error {
  return schedules.every(({ movedTo }) => movedTo !== null) ? new MovedAway(text) : new Error(text);
}

/** The end of a dry run with `--exit-code` that found changes. */
export class WouldChange extends Error {
  override readonly name = "WouldChange";
}

/** The verdict of `carillon status` that jobs do not run on time; it has been printed. */
export class NotOnTime extends Error {
  override readonly name = "NotOnTime";
  readonly verdict: "late" | "stopped" | "problems";

  constructor(verdict: "late" | "stopped" | "problems", text: string) {
    super(text);
    this.verdict = verdict;
  }
}

/** A program that a command ran has failed, and has said why; or checks did that were printed. */
export class ProgramEnded extends Error {
  override readonly name = "ProgramEnded";
  readonly code: number;

  constructor(code: number) {
    super(`The program ended with ${code}.`);
    this.code = code;
  }
}

export class Missing extends Error {
  override readonly name = "Missing";
}

/** Some of several items failed. Each failure has been printed; the cause is one of them. */
export class PartlyDone extends Error {
  override readonly name = "PartlyDone";
}

/** The server failed on some items of a bulk call; a retry may succeed. */
export class ServerFailed extends Error {
  override readonly name = "ServerFailed";
}
