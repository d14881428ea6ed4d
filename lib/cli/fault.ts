/** The command line, a file or a variable is not what is taken; nothing was sent. */
export class UsageFault extends Error {
  override readonly name = "UsageFault";
}

/** A question that had to be answered with yes. */
export class NotConfirmed extends Error {
  override readonly name = "NotConfirmed";
}

/** Ctrl-C. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/** Somebody else was faster, and so nothing was done. */
export class EditedMeanwhile extends Error {
  override readonly name = "EditedMeanwhile";
}

/** Asked for by `--exit-code`: what was tried would change something. */
export class WouldChange extends Error {
  override readonly name = "WouldChange";
}

/** Tried and not done: what was asked for would be refused. */
export class WouldBeRefused extends Error {
  override readonly name = "WouldBeRefused";
  readonly how: "refused" | "conflict";

  constructor(how: "refused" | "conflict", why: string) {
    super(`It would be refused: ${why}.`);
    this.how = how;
  }
}

/** There is no such thing. */
export class Missing extends Error {
  override readonly name = "Missing";
}

/** Of several some could not be done, each of which has been told; the cause is that of one of them. */
export class PartlyDone extends Error {
  override readonly name = "PartlyDone";
}

/** The server failed on some items of a call for many. They may be tried later. */
export class ServerFailed extends Error {
  override readonly name = "ServerFailed";
}
