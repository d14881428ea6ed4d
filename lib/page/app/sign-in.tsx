import { type FormEvent, type ReactNode, useState } from "react";
import type { SignInSettings } from "../../config/sign-in-settings.ts";
import { Bell } from "../parts/bell.tsx";
import { issuerName } from "../sign-in/settings.ts";
import { faultText } from "../sign-in/sign-in-fault.ts";
import { InstallationName } from "./installation.tsx";
import "../look/parts.css";
import "../look/shell.css";

interface SignInProps {
  /** Null: readers sign in with tokens of Carillon only. */
  settings: SignInSettings | null;
  /** Why the reader has to sign in, or to try it again. */
  refused: string | null;
  onRefused: (reason: string | null) => void;
  onToken: (token: string) => void;
}

/** Sends the reader to the issuer, if there is one, or takes a token. It stays in this tab. */
export function SignIn({ settings, refused, onRefused, onToken }: SignInProps) {
  return (
    <Screen>
      {refused === null ? null : (
        <p className="notice bad" role="alert">
          {refused}
        </p>
      )}
      {settings === null ? (
        <TokenForm onToken={onToken} look="primary">
          A colleague with an admin token makes one with <code>carillon token create</code>. On your own
          machine, <code>npm start</code> prints a link that signs in.
        </TokenForm>
      ) : (
        <>
          <IssuerButton settings={settings} onRefused={onRefused} />
          <details className="other-sign-in">
            <summary>Sign in with a token</summary>
            <TokenForm onToken={onToken} look="quiet">
              It has to be a JWT of {issuerName(settings)}.
            </TokenForm>
          </details>
        </>
      )}
    </Screen>
  );
}

/** While the issuer's answer is exchanged for tokens. */
export function Arriving({ settings }: { settings: SignInSettings }) {
  return (
    <Screen>
      <p role="status" aria-busy="true">
        Signing in with {issuerName(settings)} …
      </p>
    </Screen>
  );
}

function Screen({ children }: { children: ReactNode }) {
  return (
    <main className="sign-in">
      <h1>
        <Bell /> Carillon <InstallationName />
      </h1>
      {children}
    </main>
  );
}

interface IssuerButtonProps {
  settings: SignInSettings;
  onRefused: (reason: string | null) => void;
}

function IssuerButton({ settings, onRefused }: IssuerButtonProps) {
  const [isBusy, setBusy] = useState(false);
  const leave = async () => {
    setBusy(true);
    onRefused(null);
    try {
      const { beginSignIn } = await import("../sign-in/issuer.ts");
      location.assign(await beginSignIn(settings));
    } catch (error) {
      onRefused(faultText(error));
    }
    // Also before the page is left: a browser may bring it back as it was.
    setBusy(false);
  };
  return (
    <button type="button" className="button primary" disabled={isBusy} onClick={() => void leave()}>
      Sign in with {issuerName(settings)}
    </button>
  );
}

interface TokenFormProps {
  onToken: (token: string) => void;
  look: "primary" | "quiet";
  /** Where a token comes from. */
  children: ReactNode;
}

function TokenForm({ onToken, look, children }: TokenFormProps) {
  const [token, setToken] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (token.trim() !== "") onToken(token.trim());
  };
  return (
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
      <p className="quiet">It stays in this tab and is forgotten when the tab is closed. {children}</p>
      <button
        type="submit"
        className={look === "primary" ? "button primary" : "button"}
        disabled={token.trim() === ""}
      >
        Sign in
      </button>
    </form>
  );
}
