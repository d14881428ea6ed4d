import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { useState } from "react";
import { makeQueries } from "../data/query-client.ts";
import { makePageRouter } from "./router.tsx";
import { forgetToken, keepToken, keptToken } from "./session.ts";
import { SessionContext } from "./session-context.ts";
import { SignIn } from "./sign-in.tsx";

/** The sign-in, or with a token the views. A new token begins with empty caches. */
export function App() {
  const [token, setToken] = useState(keptToken);
  const [refused, setRefused] = useState<string | null>(null);
  const signIn = (given: string) => {
    keepToken(given);
    setRefused(null);
    setToken(given);
  };
  const signOut = (reason: string | null) => {
    forgetToken();
    setRefused(reason);
    setToken(null);
  };
  if (token === null) return <SignIn refused={refused} onToken={signIn} />;
  return <SignedIn key={token} token={token} onSignOut={signOut} />;
}

function SignedIn({ token, onSignOut }: { token: string; onSignOut: (reason: string | null) => void }) {
  const [router] = useState(makePageRouter);
  const [{ queryClient, carillon }] = useState(() => makeQueries(token, onSignOut));
  return (
    <SessionContext value={{ carillon, signOut: () => onSignOut(null) }}>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </SessionContext>
  );
}
