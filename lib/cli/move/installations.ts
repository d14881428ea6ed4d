import type { Carillon } from "../../client/main.ts";
import type { Call } from "../command.ts";
import { apiUrl, type ConnectionParams, connect } from "../connection.ts";
import { UsageFault } from "../fault.ts";

/** One of the two ends of a move. */
export interface Installation {
  client: Carillon;
  /** Gives up soon: a person waits, and the address may be wrong. */
  probe: Carillon;
  /** As the other installation knows it. */
  url: string;
}

/** A move sends many requests, so a rate that is used up for a while does not end it. */
const retries = 8;

/** The address as the API writes it. */
const written = (url: string) => (URL.canParse(url) ? new URL(url).href.replace(/\/+$/, "") : url);

/** The installation of CARILLON_URL, or of `--url`. */
export function installationHere(call: Call): Installation {
  const { env, given, out, version } = call;
  const url = apiUrl(given.text("url"), env);
  const note = (text: string) => out.note(text);
  return bothOf({ url, tokenFile: given.text("token-file"), env, version, note });
}

/** The installation of `--to`. */
export function installationThere(call: Call, url: string): Installation {
  const { env, given, out, version } = call;
  if (!/^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : ""))
    throw new UsageFault(
      `--to takes an address such as https://carillon-2.example.com, not ${JSON.stringify(url)}.`,
    );
  const tokenFile = given.text("to-token-file");
  const token = env["CARILLON_TO_TOKEN"] ?? "";
  if (tokenFile === undefined && token === "")
    throw new UsageFault(
      "The installation of --to needs a token of its own: in CARILLON_TO_TOKEN, or in the file given by --to-token-file.",
    );
  const note = (text: string) => out.note(text);
  return bothOf({ url, tokenFile, env: { ...env, CARILLON_TOKEN: token }, version, note });
}

function bothOf(params: ConnectionParams & { url: string }): Installation {
  return {
    client: connect({ ...params, retries }),
    // The first client has said already that the address is not encrypted.
    probe: connect({ ...params, note: () => {} }),
    url: written(params.url),
  };
}
