import type { Mutant } from "../mutant.ts";

const callers = "lib/tools/local/callers.ts";
const sqs = "lib/tools/local/queue/only-sqs.ts";

const callersTest = "test/local/callers/callers.test.ts";
const sqsTest = "test/local/callers/only-sqs.test.ts";

/** The ports of the local stack answer programs of this machine and its own page. */
export const callerRows: readonly Mutant[] = [
  {
    name: "callers: a request to an unknown host is refused",
    file: callers,
    text: "hostRefusal(request, callers) ?? pageRefusal",
    replacement: "pageRefusal",
    tests: [callersTest],
  },
  {
    name: "callers: a request of another page is refused",
    file: callers,
    text: "hostRefusal(request, callers) ?? pageRefusal(request, callers)",
    replacement: "hostRefusal(request, callers)",
    tests: [callersTest],
  },
  {
    name: "callers: the whole host counts",
    file: callers,
    text: "!allowed.includes(nameOf(host))",
    replacement: "!allowed.some((each) => nameOf(host).startsWith(each))",
    tests: [callersTest],
  },
  {
    name: "callers: a request without a host is refused",
    file: callers,
    text: "if (given.length === 0)",
    replacement: "if (given.length > 1)",
    tests: [callersTest],
  },
  {
    name: "callers: the host in a target counts",
    file: callers,
    text: ", ...hostOfTarget(request)]",
    replacement: "]",
    tests: [callersTest],
  },
  {
    name: "callers: an origin has the port of the request",
    file: callers,
    text: 'origin.replace(/^https?:\\/\\//, "") === headers.host?.toLowerCase()',
    replacement: 'nameOf(origin.replace(/^https?:\\/\\//, "")) === nameOf(headers.host ?? "")',
    tests: [callersTest],
  },
  {
    name: "callers: a program's port answers no page",
    file: callers,
    text: "origins !== null && (",
    replacement: "(origins === null || ",
    tests: [callersTest],
  },
  {
    name: "callers: a browser that names no origin is noticed",
    file: callers,
    text: 'site === undefined || site === "none"',
    replacement: 'site !== "" || site === "none"',
    tests: [callersTest],
  },
  {
    name: "callers: a frame is no link",
    file: callers,
    text: ' &&\n    headers["sec-fetch-dest"] === "document"',
    replacement: "",
    tests: [callersTest],
  },
  {
    name: "callers: a form is no link",
    file: callers,
    text: '(method === "GET" || method === "HEAD") &&',
    replacement: 'method !== "" &&',
    tests: [callersTest],
  },
];

/** The port of SQS has nothing else of the emulator. */
export const onlySqsRows: readonly Mutant[] = [
  {
    name: "only SQS: a form is refused, and so is the emulator's SNS",
    file: sqs,
    text: "if (type === queryProtocol) return refuseQuery(response);",
    replacement: "if (type === queryProtocol) return answer(request, response);",
    tests: [sqsTest],
  },
  {
    name: "only SQS: the type itself counts, not its parameters",
    file: sqs,
    text: "type !== awsJson",
    replacement: '!headers["content-type"]?.includes(awsJson)',
    tests: [sqsTest],
  },
  {
    name: "only SQS: paths of S3 and of the emulator's pages are not there",
    file: sqs,
    text: '(url !== "/" && !queuePath.test(url))',
    replacement: "false",
    tests: [sqsTest],
  },
  {
    name: "only SQS: a request is a POST",
    file: sqs,
    text: 'method !== "POST" || ',
    replacement: "",
    tests: [sqsTest],
  },
];
