import type { Arrival, Rule } from "./bus-store.ts";

const detailShown = 2_000;

/** An HTML page of the received events, newest first. The browser refreshes it without a script. */
export function eventsPage(arrivals: readonly Arrival[], rules: readonly Rule[]): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="refresh" content="5">
<meta name="viewport" content="width=device-width">
<title>Carillon: events</title>
<style>
  body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; color: #222; background: #fff }
  table { border-collapse: collapse; width: 100% } th, td { text-align: left; vertical-align: top; padding: .4rem .8rem .4rem 0; border-top: 1px solid #ddd }
  pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; font-size: 13px } td.time { white-space: nowrap }
  .quiet { color: #666 }
</style>
<h1>Events</h1>
<p class="quiet">The last ${arrivals.length} that arrived, newest first. As JSON: <a href="/events">/events</a>.</p>
${arrivals.length === 0 ? "<p>None yet.</p>" : arrivalsTable(arrivals)}
<h2>Rules</h2>
${rules.length === 0 ? "<p>None: events are kept and shown, and go nowhere else.</p>" : rulesTable(rules)}
</html>
`;
}

function arrivalsTable(arrivals: readonly Arrival[]): string {
  const rows = arrivals.map(
    (arrival) => `<tr><td class="time">${escaped(arrival.arrivedAt)}</td><td>${escaped(arrival.bus)}</td>
<td>${escaped(arrival.source)}<br>${escaped(arrival["detail-type"])}</td><td>${escaped(arrival.rules.join(", ") || "–")}</td>
<td><pre>${escaped(shortened(JSON.stringify(arrival.detail, null, 2)))}</pre></td></tr>`,
  );
  return `<table><tr><th>Arrived</th><th>Bus</th><th>Source, type</th><th>Rules</th><th>Detail</th></tr>${rows.join("\n")}</table>`;
}

function rulesTable(rules: readonly Rule[]): string {
  const rows = rules.map(
    (
      rule,
    ) => `<tr><td>${escaped(rule.bus)}</td><td>${escaped(rule.name)}${rule.enabled ? "" : " (disabled)"}</td>
<td><pre>${escaped(rule.pattern)}</pre></td></tr>`,
  );
  return `<table><tr><th>Bus</th><th>Rule</th><th>Pattern</th></tr>${rows.join("\n")}</table>`;
}

function shortened(text: string): string {
  return text.length <= detailShown ? text : `${text.slice(0, detailShown)} …`;
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? "");
}
