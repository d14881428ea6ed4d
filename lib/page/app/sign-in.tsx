import { type FormEvent, useState } from "react";
import { Bell } from "../parts/bell.tsx";
import "../look/parts.css";
import "../look/shell.css";

/** Asks for a token. It stays in this tab. */
export function SignIn({ refused, onToken }: { refused: string | null; onToken: (token: string) => void }) {
  const [token, setToken] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (token.trim() !== "") onToken(token.trim());
  };
  return (
    <main className="sign-in">
      <h1>
        <Bell /> Carillon
      </h1>
      {refused === null ? null : (
        <p className="notice bad" role="alert">
          {refused}
        </p>
      )}
      <form onSubmit={submit}>
        <label htmlFor="token">Token</label>
        <input
          id="token"
          type="password"
          autoComplete="off"
          spellCheck={false}
          value={token}
          onChange={(event) => setToken(event.target.value)}
        />
        <p className="quiet">
          It stays in this tab and is forgotten when the tab is closed. A colleague with an admin token makes
          one with <code>carillon token create</code>.
        </p>
        <button type="submit" className="button primary" disabled={token.trim() === ""}>
          Sign in
        </button>
      </form>
    </main>
  );
}
