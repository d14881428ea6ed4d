import { apiUrl } from "../../data/query-client.ts";
import { curlText, quoted } from "../../data/text/shell-text.ts";
import { readOrEmpty } from "./use-text.ts";

/** The save as commands for a shell. */
export function copiedSave(text: string, key: string | undefined, version: number | null) {
  // The API makes a key up, the CLI wants one.
  const hasKey = readOrEmpty(text)["key"] !== undefined;
  const put =
    key === undefined
      ? `carillon put ${hasKey ? "" : "KEY "}--create -f -`
      : `carillon put ${quoted(key)} --if-match ${version} -f -`;
  return {
    carillon: `${put} <<'JSON'\n${text}\nJSON`,
    curl:
      key === undefined
        ? curlText({ method: "POST", url: `${apiUrl()}/v1/schedules`, body: text })
        : curlText({
            method: "PUT",
            url: `${apiUrl()}/v1/schedules/${encodeURIComponent(key)}`,
            headers: { "if-match": `"${version}"` },
            body: text,
          }),
  };
}
