import type { SignInSettings } from "../../config/sign-in-settings.ts";
import { type Bearer, givenBearer, issuedBearer } from "./bearer.ts";
import { forgetIssued, keepIssued, keptIssued } from "./issued-tokens.ts";
import { forgetToken, keptToken } from "./kept-token.ts";
import { takeAnswerFromAddress } from "./pending.ts";

/** The reader of this tab, if it has signed in already. */
export function keptBearer(settings: SignInSettings | null): Bearer | null {
  const token = keptToken();
  if (token !== null) return givenBearer(token);
  const issued = settings === null ? null : keptIssued();
  return settings === null || issued === null ? null : issuedBearer(settings, issued);
}

export function forgetReader(): void {
  forgetToken();
  forgetIssued();
}

/** Ends the sign-in whose answer is in the address; null if there is no answer. */
export function arrive(settings: SignInSettings | null): Promise<Bearer> | null {
  if (settings === null) return null;
  const answer = takeAnswerFromAddress();
  // A foreign answer does not end the session of a reader that has signed in.
  if (answer === null || (answer.pending === null && keptBearer(settings) !== null)) return null;
  return import("./issuer.ts")
    .then(({ finishSignIn }) => finishSignIn(settings, answer))
    .then((tokens) => {
      forgetReader();
      keepIssued(tokens);
      return issuedBearer(settings, tokens);
    });
}
