export interface Answer {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  text: string;
}

/** How many faults of one attack are kept; the rest is counted. */
const keptMax = 10;

/** The answers of one attack by status, and what was wrong with them. */
export class Answers {
  readonly byStatus = new Map<number, number>();
  readonly faults: string[] = [];
  faultCount = 0;
  /** Requests whose caller went away, as the attack wanted. */
  abandoned = 0;

  get count(): number {
    return this.byStatus.values().reduce((sum, each) => sum + each, this.abandoned);
  }

  note(what: string, answer: Answer): void {
    this.byStatus.set(answer.status, (this.byStatus.get(answer.status) ?? 0) + 1);
    const fault = faultOf(answer);
    if (fault !== null) this.fault(`${what}: ${fault}`);
  }

  fault(text: string): void {
    this.faultCount++;
    if (this.faults.length < keptMax) this.faults.push(text);
  }

  /** Such as `200 × 17, 429 × 3`. */
  text(): string {
    const parts = [...this.byStatus]
      .toSorted(([a], [b]) => a - b)
      .map(([status, count]) => `${status} × ${count}`);
    if (this.abandoned > 0) parts.push(`abandoned × ${this.abandoned}`);
    return parts.join(", ");
  }
}

const shownMax = 300;
const problemType = "urn:carillon:problem:";

/** The fault of an answer to any request; null for an answer as the API promises it. */
export function faultOf(answer: Answer): string | null {
  const { status, headers, text } = answer;
  if (status >= 500) {
    if (status === 503 && headers["retry-after"] !== undefined) return null;
    return `answered ${status}${status === 503 ? " without Retry-After" : ""}: ${text.slice(0, shownMax)}`;
  }
  // An operation may have failed although its batch answers 200.
  if (text.startsWith('{"results":') && text.includes(`"${problemType}internal"`))
    return `an operation failed: ${text.slice(0, shownMax)}`;
  if (status < 400 || isOfTheFront(answer)) return null;
  if (status === 429 && headers["retry-after"] === undefined) return "answered 429 without Retry-After";
  // The answer to HEAD has no body.
  const isTold = text === "" || isProblem(status, text);
  if (headers["content-type"] === "application/problem+json" && isTold) return null;
  return `refused with ${status}, and not as a problem: ${text.slice(0, shownMax)}`;
}

const frontStatuses: ReadonlySet<number> = new Set([400, 408, 413, 417, 431]);

/**
 * Refusals before the API: a request that is not HTTP gets a status alone, and the gateway and the
 * guard of the port answer with a `message`, as those of AWS do.
 */
function isOfTheFront({ status, headers, text }: Answer): boolean {
  if (headers["x-amzn-errortype"] === "ForbiddenException") return status === 403;
  if (text === "") return frontStatuses.has(status);
  return frontStatuses.has(status) && /^\{"message":"[^"]+"\}$/.test(text);
}

function isProblem(status: number, text: string): boolean {
  try {
    const problem = JSON.parse(text) as { type?: unknown; status?: unknown };
    return (
      typeof problem.type === "string" && problem.type.startsWith(problemType) && problem.status === status
    );
  } catch {
    return false;
  }
}
