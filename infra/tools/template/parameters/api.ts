import type { TemplateParameter } from "../parameter.ts";

const group = "API and page";

const label = "[a-z0-9]+(-[a-z0-9]+)*";
/** A port has four digits or more, because browsers leave out the port that a scheme has anyway. */
const port = "(:([1-9][0-9]{3}|[1-5][0-9]{4}))?";
const origin = `(https://(${label}[.])+[a-z]{2,20}${port}|http://localhost${port})`;

export const apiParameters: readonly TemplateParameter[] = [
  {
    name: "ApiRequestsPerSecond",
    group,
    setting: "apiRequestsPerSecond",
    description: "How many requests a second the API accepts on average; it answers 429 to the others.",
    byDefault: "50",
    values: {
      kind: "text",
      learned: ["50", "10000"],
      pattern: "[1-9][0-9]{0,3}|10000",
      takes: "a whole number from 1 to 10000",
    },
  },
  {
    name: "ApiRatePerToken",
    group,
    setting: "apiRatePerToken",
    description: "The rate limit of a token without one of its own. Empty: the limit of the API.",
    byDefault: "",
    values: {
      kind: "text",
      learned: ["100/s", "2000/h"],
      pattern: "[1-9][0-9]{0,8}/[smh]",
      takes: "a rate such as 100/s, 100/m or 1000/h, or nothing",
    },
  },
  {
    name: "ApiRequireIfMatch",
    group,
    setting: "apiRequireIfMatch",
    description: "Whether changes of versioned objects need an If-Match.",
    byDefault: "false",
    values: { kind: "flag" },
  },
  {
    name: "ApiCorsOrigins",
    group,
    setting: "apiCorsOrigins",
    description:
      "The origins of pages that may call the API from a browser, separated by commas. Empty: none.",
    byDefault: "",
    values: {
      kind: "text",
      learned: ["https://one.example.com,https://two.example.com", "https://three.example.com"],
      pattern: `${origin}(,${origin})*`,
      takes:
        "origins in lower case such as https://app.example.com, separated by commas without blanks, or nothing",
      lengthMax: 450,
    },
  },
  {
    name: "PageName",
    group,
    setting: "pageName",
    description: "The name of this installation on the page. Empty: the name of the stack.",
    byDefault: "",
    values: {
      kind: "text",
      learned: ["The page, one", "The page, two"],
      // The setting's `none` leaves the name out, and the template cannot.
      pattern: "(?!none$)[A-Za-z0-9À-ÖØ-öø-ÿ]([ -~À-ÖØ-öø-ÿ]{0,38}[!-~À-ÖØ-öø-ÿ])?",
      takes:
        "a name of up to 40 letters, digits, punctuation marks and blanks that begins with a letter or digit",
    },
  },
];
