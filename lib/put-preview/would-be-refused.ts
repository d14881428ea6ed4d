/** The end of a preview whose real change would be refused. */
export class WouldBeRefused extends Error {
  override readonly name = "WouldBeRefused";
  readonly how: "refused" | "conflict";

  constructor(how: "refused" | "conflict", why: string) {
    super(`It would be refused: ${why}.`);
    this.how = how;
  }
}
