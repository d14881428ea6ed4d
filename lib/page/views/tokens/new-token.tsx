import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import type { Scope, TokenBody } from "../../../client/tokens.ts";
import { useSession } from "../../hooks/session-context.ts";
import { useAction } from "../../hooks/use-action.ts";
import { sentenceOf } from "../../parts/answer-state.tsx";
import { Leave } from "../../parts/dialog/leave.tsx";
import { IssuedToken } from "./issued-token.tsx";
import { SecretDialog } from "./secret-dialog.tsx";

export function NewTokenButton() {
  return (
    <SecretDialog button="New token …" title="New token">
      {(onBusy) => <NewToken onBusy={onBusy} />}
    </SecretDialog>
  );
}

/** The form, and after it the secret, which exists only in this dialog. */
function NewToken({ onBusy }: { onBusy(isBusy: boolean): void }) {
  const { carillon } = useSession();
  const queryClient = useQueryClient();
  const making = useAction({
    mutationFn: (body: TokenBody) => carillon.tokens.create(body),
    onMutate: () => onBusy(true),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ["tokens"] }),
    onSettled: () => onBusy(false),
    gcTime: 0,
  });
  if (making.data !== undefined)
    return (
      <IssuedToken token={making.data.token}>
        The token <b className="mono">{making.data.name}</b> is made.
      </IssuedToken>
    );
  return <TokenForm onMake={making.act} error={making.error} isPending={making.isPending} />;
}

const dayMs = 86_400_000;

const lifetimes = [
  { days: 30, text: "in 30 days" },
  { days: 90, text: "in 90 days" },
  { days: 365, text: "in a year" },
  { days: null, text: "never" },
] as const;

const scopes: readonly (readonly [Scope, string])[] = [
  ["read", "read: sees, and changes nothing"],
  ["write", "write: also changes schedules and jobs"],
  ["admin", "admin: also tokens, limits and the audit"],
];

interface TokenFormProps {
  onMake(body: TokenBody): void;
  error: Error | null;
  isPending: boolean;
}

function TokenForm({ onMake, error, isPending }: TokenFormProps) {
  const [name, setName] = useState("");
  const [scope, setScope] = useState<Scope>("read");
  const [prefix, setPrefix] = useState("");
  const [days, setDays] = useState("90");
  const [rate, setRate] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onMake({
      name,
      scope,
      expiresAt: days === "" ? null : new Date(Date.now() + Number(days) * dayMs),
      // Left out, both are those of the token that makes it.
      ...(prefix === "" ? {} : { prefix }),
      ...(rate === "" ? {} : { rate }),
    });
  };
  return (
    <form onSubmit={submit} className="dialog-form">
      <label>
        Name: the actor of its changes in the audit
        <input required value={name} spellCheck={false} onChange={(event) => setName(event.target.value)} />
      </label>
      <label>
        Scope
        <select
          value={scope}
          onChange={(event) => setScope(scopes.find(([each]) => each === event.target.value)?.[0] ?? "read")}
        >
          {scopes.map(([each, text]) => (
            <option key={each} value={each}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <label>
        Keys begin with (empty: the keys of your token)
        <input
          value={prefix}
          spellCheck={false}
          placeholder="e.g. billing:"
          onChange={(event) => setPrefix(event.target.value)}
        />
      </label>
      <label>
        Expires
        <select value={days} onChange={(event) => setDays(event.target.value)}>
          {lifetimes.map(({ days: each, text }) => (
            <option key={text} value={each ?? ""}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <label>
        Rate of its requests (empty: that of your token)
        <input value={rate} placeholder="e.g. 100/s" onChange={(event) => setRate(event.target.value)} />
      </label>
      {error === null ? null : (
        <p className="notice bad" role="alert">
          {sentenceOf(error)}
        </p>
      )}
      <footer>
        <Leave isBusy={isPending} />
        <button type="submit" className="button primary" disabled={isPending}>
          {isPending ? "Working …" : "Make the token"}
        </button>
      </footer>
    </form>
  );
}
