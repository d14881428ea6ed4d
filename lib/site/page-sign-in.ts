import { type Environment, required } from "../config/environment.ts";
import type { SignInSettings } from "../config/sign-in-settings.ts";

/** The sign-in with an issuer that `PAGE_ISSUER` begins; undefined without one. */
export function signInFrom(env: Environment): SignInSettings | undefined {
  if ((env["PAGE_ISSUER"] ?? "") === "") return undefined;
  return {
    issuer: required(env, "PAGE_ISSUER"),
    clientId: required(env, "PAGE_CLIENT_ID"),
    scope: required(env, "PAGE_SCOPES"),
    parameters: wordsIn(env, "PAGE_SIGN_IN_PARAMETERS").map((text) => {
      const end = text.indexOf("=");
      return [text.slice(0, end), text.slice(end + 1)];
    }),
  };
}

/** The origins beside its own that the page calls to sign in. */
export function connectOrigins(env: Environment, signIn: SignInSettings | undefined): string[] {
  const issuer = signIn === undefined ? [] : [new URL(signIn.issuer).origin];
  return [...new Set([...issuer, ...wordsIn(env, "PAGE_CONNECT_ORIGINS")])];
}

function wordsIn(env: Environment, variable: string): string[] {
  return (env[variable] ?? "").split(" ").filter((each) => each !== "");
}
