import { logsLinkElement } from "../config/logs-link.ts";
import { pageNameElement } from "../config/page-name.ts";
import { type SignInSettings, signInElement } from "../config/sign-in-settings.ts";

/** The settings of the deployment that the page's script reads. */
export interface PageSettings {
  /** The name of the installation. Undefined: the page shows none. */
  name: string | undefined;
  /** Undefined: readers sign in with tokens of Carillon only. */
  signIn: SignInSettings | undefined;
  /** The template of the addresses of logs. Undefined: the page links no logs. */
  logsLink: string | undefined;
}

/** The document with the settings in elements that the page's script reads: no script is inline. */
export function withSettings(document: string, { name, signIn, logsLink }: PageSettings): string {
  const elements = [
    ...(name === undefined ? [] : [meta(pageNameElement, name)]),
    ...(signIn === undefined ? [] : [meta(signInElement, JSON.stringify(signIn))]),
    ...(logsLink === undefined ? [] : [meta(logsLinkElement, logsLink)]),
  ];
  return document.replace("<head>", () => `<head>${elements.join("")}`);
}

function meta(name: string, content: string): string {
  return `<meta name="${name}" content="${attribute(content)}">`;
}

function attribute(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
}
