import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import type { SignInSettings } from "../../config/sign-in-settings.ts";
import { makeQueries } from "../data/query-client.ts";
import { SessionContext } from "../hooks/session-context.ts";
import { forgetReader, keptBearer } from "../sign-in/arrive.ts";
import { type Bearer, givenBearer } from "../sign-in/bearer.ts";
import { keepToken } from "../sign-in/kept-token.ts";
import { faultText } from "../sign-in/sign-in-fault.ts";
import { forgetAnyDraft } from "../views/edit/draft/kept-draft.ts";
import { makePageRouter } from "./router.tsx";
import { Arriving, SignIn } from "./sign-in.tsx";

interface AppProps {
  /** Null: readers sign in with tokens of Carillon only. */
  signIn: SignInSettings | null;
  /** The end of a sign-in that the issuer has answered. Null: there is none under way. */
  arrival: Promise<Bearer> | null;
}

/** The sign-in, or with a token the views. A new reader begins with empty caches. */
export function App({ signIn, arrival }: AppProps) {
  const [bearer, setBearer] = useState(() => (arrival === null ? keptBearer(signIn) : null));
  const [isArriving, setArriving] = useState(arrival !== null);
  const [refused, setRefused] = useState<string | null>(null);
  useEffect(() => {
    void arrival
      ?.then(setBearer, (error: unknown) => setRefused(faultText(error)))
      .finally(() => setArriving(false));
  }, [arrival]);
  const enter = (given: string) => {
    keepToken(given);
    setRefused(null);
    setBearer(givenBearer(given));
  };
  const signOut = (reason: string | null) => {
    forgetReader();
    if (reason === null) forgetAnyDraft();
    setRefused(reason);
    setBearer(null);
  };
  if (bearer !== null) return <SignedIn bearer={bearer} onSignOut={signOut} />;
  if (isArriving && signIn !== null) return <Arriving settings={signIn} />;
  return <SignIn settings={signIn} refused={refused} onRefused={setRefused} onToken={enter} />;
}

function SignedIn({ bearer, onSignOut }: { bearer: Bearer; onSignOut: (reason: string | null) => void }) {
  const [router] = useState(makePageRouter);
  const [{ queryClient, carillon }] = useState(() => makeQueries(bearer, onSignOut));
  return (
    <SessionContext value={{ carillon, signOut: () => onSignOut(null) }}>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </SessionContext>
  );
}
