/** A parameter in the query of a URL. */
export interface Parameter {
  name: string;
  /** As it is written in the URL. */
  value: string;
}

const parameterForm = /([?&])([^=&?]+)=([^&]*)/g;

export function parametersOf(url: string): Parameter[] {
  const query = url.slice(queryStart(url));
  return [...query.matchAll(parameterForm)].map(([, , name = "", value = ""]) => ({
    name: decoded(name),
    value,
  }));
}

/** The URL with other values of its parameters; all other characters stay as they are written. */
export function withParameters(url: string, written: (parameter: Parameter) => string): string {
  const start = queryStart(url);
  const query = url
    .slice(start)
    .replace(
      parameterForm,
      (_, before: string, name: string, value: string) =>
        `${before}${name}=${written({ name: decoded(name), value })}`,
    );
  return `${url.slice(0, start)}${query}`;
}

function queryStart(url: string): number {
  const start = url.indexOf("?");
  return start === -1 ? url.length : start;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
