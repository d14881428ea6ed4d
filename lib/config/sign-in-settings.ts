/**
 * Where the readers of the page sign in, if not with a token of Carillon. The page's function writes
 * it into the document. None of it is secret.
 */
export interface SignInSettings {
  /** The issuer's address, exactly as in its documents. */
  issuer: string;
  /** The page's public client at the issuer. */
  clientId: string;
  /** Separated by blanks. */
  scope: string;
  /** Parameters of the sign-in beside those of the protocol. */
  parameters: readonly (readonly [name: string, value: string])[];
}

/** The name of the document's element with the settings. */
export const signInElement = "carillon-sign-in";
