import { type SignInSettings, signInElement } from "../../config/sign-in-settings.ts";
import { settingIn } from "../data/setting-in.ts";

/** Where to sign in, by the document; null if only with a token of Carillon. */
export function signInSettings(): SignInSettings | null {
  const content = settingIn(signInElement);
  // The type is asserted: the function of the same release wrote it.
  return content === null ? null : (JSON.parse(content) as SignInSettings);
}

/** The issuer in the words of the page. */
export const issuerName = ({ issuer }: SignInSettings) => new URL(issuer).host;
