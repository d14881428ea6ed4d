/** The labels of the filters, by the API's names of their parameters. */
export const filterLabels = {
  key: "Key",
  prefix: "Key begins with",
  tag: "Tag",
  group: "Group",
  target: "Target",
  calendar: "Calendar",
  state: "State",
  errorGroup: "Error group",
  reason: "Reason",
  lateBy: "Late by at least",
  owner: "Owner",
  subject: "Subject",
  actor: "By",
  action: "Change",
  from: "From",
  to: "To",
} as const;

const labels: ReadonlyMap<string, string> = new Map(Object.entries(filterLabels));

/** Also the fields of dialogs. */
const faultLabels: ReadonlyMap<string, string> = new Map([...labels, ["until", "Ends"]]);

/** A fault of the API, in which parameters have the labels of their fields. */
export function faultText({ path, message }: { path: string; message: string }): string {
  const label = faultLabels.get(path.replace(/^filter\./, ""));
  const words = message.replaceAll(
    /`(\w+)`/g,
    (whole, name: string) => quoted(faultLabels.get(name)) ?? whole,
  );
  return `${quoted(label) ?? path} ${words}`;
}

const quoted = (label: string | undefined) => (label === undefined ? undefined : `“${label}”`);

/**
 * A filter as the audit and the board of holds have it, such as `prefix crm:, errorGroup 5d1c0e7a94b2`, with words
 * instead of the names of parameters.
 */
export const filterText = (filter: string): string =>
  filter.replaceAll(
    /(?<=^|, )(\w+)(?= )/g,
    (name) => labels.get(name)?.replace(/^./, (first) => first.toLowerCase()) ?? name,
  );
