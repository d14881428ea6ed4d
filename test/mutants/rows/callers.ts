import type { Mutant } from "../mutant.ts";

const callers = "lib/tools/local/callers.ts";

const callersTest = "test/local/callers/callers.test.ts";

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
