/** The texts of one fault as it comes with different data, from real libraries; and the normalised text. */
export interface Fault {
  texts: readonly string[];
  normalised: string;
}

const network: Fault[] = [
  {
    texts: [
      "connect ECONNREFUSED 127.0.0.1:5432",
      "connect ECONNREFUSED 10.0.3.17:5432",
      "connect ECONNREFUSED ::1:5432",
    ],
    normalised: "connect ECONNREFUSED <ip>:5432",
  },
  { texts: ["connect ECONNREFUSED 127.0.0.1:6379"], normalised: "connect ECONNREFUSED <ip>:6379" },
  {
    texts: ["read ECONNRESET 10.1.2.3:52344", "read ECONNRESET 10.9.8.7:61002"],
    normalised: "read ECONNRESET <ip>:<n>",
  },
  { texts: ["read ECONNRESET"], normalised: "read ECONNRESET" },
  { texts: ["getaddrinfo ENOTFOUND api.example.com"], normalised: "getaddrinfo ENOTFOUND api.example.com" },
  { texts: ["getaddrinfo ENOTFOUND db.internal"], normalised: "getaddrinfo ENOTFOUND db.internal" },
  { texts: ["getaddrinfo EAI_AGAIN api.example.com"], normalised: "getaddrinfo EAI_AGAIN api.example.com" },
  { texts: ["fetch failed"], normalised: "fetch failed" },
  { texts: ["socket hang up"], normalised: "socket hang up" },
  { texts: ["write EPIPE"], normalised: "write EPIPE" },
  {
    texts: ["timeout of 5000ms exceeded", "timeout of 30000ms exceeded"],
    normalised: "timeout of <n>s exceeded",
  },
  {
    texts: ["500ms", "30s", "1.5s", "1m", "1m30s", "10m"].map(
      (timeout) => `The attempt took longer than ${timeout}.`,
    ),
    normalised: "The attempt took longer than <n>s.",
  },
  {
    texts: ["The operation was aborted due to timeout"],
    normalised: "The operation was aborted due to timeout",
  },
  {
    texts: ["Client network socket disconnected before secure TLS connection was established"],
    normalised: "Client network socket disconnected before secure TLS connection was established",
  },
  {
    texts: ["Stream closed with error code ERR_HTTP2_STREAM_CANCEL"],
    normalised: "Stream closed with error code ERR_HTTP2_STREAM_CANCEL",
  },
];

const http: Fault[] = [
  { texts: ["Request failed with status code 404"], normalised: "Request failed with status code 404" },
  { texts: ["Request failed with status code 500"], normalised: "Request failed with status code 500" },
  { texts: ["Request failed with status code 429"], normalised: "Request failed with status code 429" },
  {
    texts: ["Response code 503 (Service Unavailable)"],
    normalised: "Response code 503 (Service Unavailable)",
  },
  { texts: ["HTTP 502"], normalised: "HTTP 502" },
  { texts: ["503 Service Unavailable"], normalised: "503 Service Unavailable" },
  {
    texts: [
      "POST https://api.example.com/v1/orders/1234?token=abc123 answered 500",
      "POST https://bob:pw1@api.example.com/v1/orders/99/lines answered 500",
    ],
    normalised: "POST https://api.example.com/<path> answered 500",
  },
  {
    texts: ["POST https://mail.example.com/v1/send answered 500"],
    normalised: "POST https://mail.example.com/<path> answered 500",
  },
  {
    texts: [
      'The receiver answered 500: {"error":"db is down","requestId":"c0ffee11-22aa-4b3c-8d4e-5f6a7b8c9d0e"}',
      'The receiver answered 500: {"error":"db is down","requestId":"9b2d1c3e-1111-4222-8333-944445555666"}',
    ],
    normalised: "The receiver answered 500: {error: db is down,<text>:<text>}",
  },
  {
    texts: [
      'The receiver answered 500: {"error":"quota exceeded","requestId":"c0ffee11-22aa-4b3c-8d4e-5f6a7b8c9d0e"}',
    ],
    normalised: "The receiver answered 500: {error: quota exceeded,<text>:<text>}",
  },
  { texts: ["The receiver answered 404."], normalised: "The receiver answered 404." },
  {
    texts: ["Cannot GET /v1/users/17", "Cannot GET /v1/users/18?expand=true"],
    normalised: "Cannot GET <path>",
  },
];

const aws: Fault[] = [
  {
    texts: ["The specified queue does not exist."],
    normalised: "The specified queue does not exist.",
  },
  {
    texts: [
      "User: arn:aws:sts::123456789012:assumed-role/worker/i-0abc1234def567890 is not authorized to perform: sqs:SendMessage on resource: arn:aws:sqs:eu-central-1:123456789012:orders",
      "User: arn:aws:sts::210987654321:assumed-role/worker/i-0ffc1234def560000 is not authorized to perform: sqs:SendMessage on resource: arn:aws:sqs:eu-central-1:210987654321:orders",
    ],
    normalised:
      "User: arn:aws:sts::<n>:<id> is not authorized to perform: sqs:SendMessage on resource: arn:aws:sqs:eu-central-<n>:<n>:orders",
  },
  { texts: ["Rate exceeded"], normalised: "Rate exceeded" },
  {
    texts: [
      "Function not found: arn:aws:lambda:eu-central-1:123456789012:function:resize",
      "Function not found: arn:aws:lambda:eu-central-2:210987654321:function:resize",
    ],
    normalised: "Function not found: arn:aws:lambda:eu-central-<n>:<n>:function:resize",
  },
  {
    texts: [
      "2026-11-26T09:00:00.123Z 3f1b0c1e-8a55-4b8e-9d3f-0a1b2c3d4e5f Task timed out after 3.00 seconds",
      "2026-11-27T10:12:59.001Z 0d9c8b7a-1111-4222-8333-944445555666 Task timed out after 6.01 seconds",
    ],
    normalised: "<time> <id> Task timed out after <n> seconds",
  },
  {
    texts: ["Missing credentials in config"],
    normalised: "Missing credentials in config",
  },
];

const databases: Fault[] = [
  { texts: ['relation "users" does not exist'], normalised: "relation users does not exist" },
  { texts: ['relation "orders" does not exist'], normalised: "relation orders does not exist" },
  {
    texts: ['duplicate key value violates unique constraint "users_email_key"'],
    normalised: "duplicate key value violates unique constraint users_email_key",
  },
  {
    texts: [
      "Key (email)=(ann@example.com) already exists.",
      "Key (email)=(bob.x@mail.example.org) already exists.",
    ],
    normalised: "Key (email)=(<email>) already exists.",
  },
  { texts: ["deadlock detected"], normalised: "deadlock detected" },
  {
    texts: ["canceling statement due to statement timeout"],
    normalised: "canceling statement due to statement timeout",
  },
  {
    texts: ['invalid input syntax for type integer: "abc"', 'invalid input syntax for type integer: "x1"'],
    normalised: "invalid input syntax for type integer: <text>",
  },
  {
    texts: [
      'password authentication failed for user "ann"',
      'password authentication failed for user "bob7"',
    ],
    normalised: "password authentication failed for user <text>",
  },
  {
    texts: ["remaining connection slots are reserved for roles with the SUPERUSER attribute"],
    normalised: "remaining connection slots are reserved for roles with the SUPERUSER attribute",
  },
  {
    texts: [
      'E11000 duplicate key error collection: shop.orders index: sku_1 dup key: { sku: "A-17" }',
      'E11000 duplicate key error collection: shop.orders index: sku_1 dup key: { sku: "B-9" }',
    ],
    normalised: "E11000 duplicate key error collection: shop.orders index: <id> dup key: { sku: <text> }",
  },
  {
    texts: ["ORA-00942: table or view does not exist"],
    normalised: "ORA-00942: table or view does not exist",
  },
  {
    texts: ["ORA-00001: table or view does not exist"],
    normalised: "ORA-00001: table or view does not exist",
  },
  { texts: ["SQLSTATE 23505"], normalised: "SQLSTATE 23505" },
  { texts: ["SQLSTATE 40P01"], normalised: "SQLSTATE 40P01" },
];

const code: Fault[] = [
  {
    texts: ["Cannot read properties of undefined (reading 'id')"],
    normalised: "Cannot read properties of undefined (reading id)",
  },
  {
    texts: ["Cannot read properties of undefined (reading 'email')"],
    normalised: "Cannot read properties of undefined (reading email)",
  },
  { texts: ["order.lines is not iterable"], normalised: "order.lines is not iterable" },
  {
    texts: [
      `Unexpected token '<', "<!DOCTYPE "... is not valid JSON`,
      `Unexpected token 'o', "oops "... is not valid JSON`,
    ],
    normalised: "Unexpected token <text>, …... is not valid JSON",
  },
  { texts: ["Unexpected end of JSON input"], normalised: "Unexpected end of JSON input" },
  {
    texts: ["Unexpected token } in JSON at position 12", "Unexpected token } in JSON at position 4711"],
    normalised: "Unexpected token } in JSON at position <n>",
  },
  {
    texts: [
      "ENOENT: no such file or directory, open '/tmp/report-17.csv'",
      "ENOENT: no such file or directory, open '/tmp/report-18.csv'",
    ],
    normalised: "ENOENT: no such file or directory, open <text>",
  },
  {
    texts: ["Error: Cannot find module './mailer.js'"],
    normalised: "Error: Cannot find module ./mailer.js",
  },
  { texts: ["JavaScript heap out of memory"], normalised: "JavaScript heap out of memory" },
  {
    texts: ["The worker stopped without an answer: its lease ended."],
    normalised: "The worker stopped without an answer: its lease ended.",
  },
];

const data: Fault[] = [
  {
    texts: ["Order 1234 not found", "Order 99881 not found"],
    normalised: "Order <n> not found",
  },
  {
    texts: ["Customer cus_9s6XKzkNRiz8i3 has no card", "Customer cus_AB12cd34EF has no card"],
    normalised: "Customer <id> has no card",
  },
  {
    texts: [
      "No invoice for 3f1b0c1e-8a55-4b8e-9d3f-0a1b2c3d4e5f",
      "No invoice for 0d9c8b7a-1111-4222-8333-944445555666",
    ],
    normalised: "No invoice for <id>",
  },
  {
    texts: ["ids 1, 2, 3 are unknown", "ids 17, 18 are unknown", "ids 4, 5, 6, 7 are unknown"],
    normalised: "ids <n>, … are unknown",
  },
  {
    texts: ["Account 'Ann & Sons' is blocked", "Account 'bob' is blocked"],
    normalised: "Account <text> is blocked",
  },
  {
    texts: ["Can't mail ann@example.com: mailbox full", "Can't mail bob+x@example.org: mailbox full"],
    normalised: "Can't mail <email>: mailbox full",
  },
  {
    texts: ["db is\n\n  down", "db is down"],
    normalised: "db is down",
  },
  { texts: ["db is up again, but read only"], normalised: "db is up again, but read only" },
  { texts: [""], normalised: "" },
];

export const faults: readonly Fault[] = [...network, ...http, ...aws, ...databases, ...code, ...data];

/** Texts with a secret, and the secret. */
export const secrets: readonly (readonly [string, string])[] = [
  ["GET https://api.example.com/hooks/T0/B0/hunterhunter failed", "hunter"],
  ["GET https://ann:hunter@api.example.com/ failed", "hunter"],
  ["GET https://api.example.com/?sig=hunter failed", "hunter"],
  ["401 for Authorization: Bearer hunter.hunter-hunter_hunter", "hunter"],
  ["Basic aHVudGVyOmh1bnRlcjpodW50ZXI= refused", "aHVudGVy"],
  ["connect with password=hunter refused", "hunter"],
  ['{"password": "hunter"} refused', "hunter"],
  ["api_key: hunter is revoked", "hunter"],
  ["token=hunter is expired", "hunter"],
  ["The key sk_live_9aHunter77x is revoked", "Hunter"],
  ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJodW50ZXIifQ.b2hodW50ZXIxMjM0NTY3ODkw is malformed", "eyJ"],
  ["redis://:hunter@cache.internal:6379/0 is away", "hunter"],
];
