import type { VersionFact } from "./verdict.ts";

/** Which of the missed runs are made up, as `catchUp` says. */
export function madeUpText({ policy, within, limit }: VersionFact["body"]["catchUp"]): string {
  const young = within === null ? "" : `, if it is no older than ${within}`;
  switch (policy) {
    case "latest":
      return `only the latest missed run is made up${young} (\`catchUp\`: latest)`;
    case "all":
      return `the missed runs are made up, the newest ${limit}${within === null ? "" : ` and none older than ${within}`} (\`catchUp\`: all)`;
    case "skip":
      return "missed runs are not made up (`catchUp`: skip)";
  }
}
