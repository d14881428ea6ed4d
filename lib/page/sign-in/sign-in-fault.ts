/** A sign-in has failed. The message is for the reader. */
export class SignInFault extends Error {
  override readonly name = "SignInFault";
  /** Whether the issuer answered and refused, so that asking again cannot help. */
  readonly isRefusal: boolean;

  constructor(message: string, kind?: "refused") {
    super(message);
    this.isRefusal = kind === "refused";
  }
}

export function faultText(error: unknown): string {
  return error instanceof SignInFault
    ? error.message
    : "A part of the page could not be loaded. Reload the page, and sign in again.";
}
