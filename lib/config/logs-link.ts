/** The name of the document's element with the template. */
export const logsLinkElement = "carillon-logs-link";

/** A job or an attempt, and the window in which its log lines were written. */
export interface LoggedWork {
  jobId: string;
  key: string;
  from: Date;
  to: Date;
}

const values = {
  jobId: ({ jobId }: LoggedWork) => jobId,
  key: ({ key }: LoggedWork) => key,
  from: ({ from }: LoggedWork) => from.toISOString(),
  to: ({ to }: LoggedWork) => to.toISOString(),
  fromMs: ({ from }: LoggedWork) => String(from.getTime()),
  toMs: ({ to }: LoggedWork) => String(to.getTime()),
} as const;

type Name = keyof typeof values;

/** `{name}`, or `{name*}` in the spelling of the CloudWatch console's addresses. */
const placeholder = /\{([^{}]*?)(\*?)\}/g;
const loneBrace = /[{}]/;
const lengthMax = 800;

/** The address of the log lines. Each value is one part of it and cannot end that part. */
export function logsLinkOf(template: string, work: LoggedWork): string {
  return template.replace(placeholder, (whole, name: string, star: string) => {
    if (!isName(name)) return whole;
    const value = values[name](work);
    return star === "" ? percentEncoded(value) : inConsole(value);
  });
}

/** Why a template cannot be used; null if it can. */
export function logsLinkFault(template: string): string | null {
  if (template.length > lengthMax) return `it takes at most ${lengthMax} characters`;
  const unknown = [...template.matchAll(placeholder)].find(([, name = ""]) => !isName(name));
  if (unknown !== undefined)
    return `it has no placeholder ${unknown[0]}; it takes {${Object.keys(values).join("}, {")}}, each also with a * before the brace`;
  const filled = template.replace(placeholder, "x");
  if (loneBrace.test(filled))
    return "it takes braces around placeholders only; write another brace as %7B or %7D";
  return isSafeAddress(template, filled)
    ? null
    : "it takes an https address such as https://logs.example.com/search?q={jobId}, or none; http is for localhost, and placeholders come after the host";
}

const secure = /^https:\/\/[^\s\\{}@/?#]+[/?#]/;
const local = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?[/?#]/;

function isSafeAddress(template: string, filled: string): boolean {
  const begins = secure.test(template) || local.test(template);
  return begins && !/[\s"<>\\]/.test(filled) && URL.canParse(filled);
}

function isName(name: string): name is Name {
  return Object.hasOwn(values, name);
}

/** A value as the addresses of CloudWatch's console spell it: `*3a` for a colon. */
export function inConsole(text: string): string {
  return percentEncoded(text).replace(/%(..)/g, (_, hex: string) => `*${hex.toLowerCase()}`);
}

/** `encodeURIComponent` leaves some characters that end a value in other spellings of addresses. */
function percentEncoded(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*~]/g,
    (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
