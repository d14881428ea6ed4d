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
