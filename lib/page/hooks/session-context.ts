import { createContext, use } from "react";
import type { Carillon } from "../../client/carillon.ts";

export interface Session {
  carillon: Carillon;
  signOut(): void;
}

export const SessionContext = createContext<Session | null>(null);

export function useSession(): Session {
  const session = use(SessionContext);
  if (session === null) throw new Error("A view was rendered without a session.");
  return session;
}
