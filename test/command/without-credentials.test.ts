import { expect, test } from "vitest";
import { withoutCredentials } from "../../lib/command/without-credentials.ts";

const refused = (target: object) =>
  withoutCredentials({ put: { key: "billing:token", payload: { token: "shown" }, target: { ...target } } });

test("A refused command shows no secret, and no header or parameter of the URL that is named like a credential", () => {
  const webhook = {
    url: "https://user:pw@shop.example/hook?sig=abc&page=2&api_key=def#token=x",
    headers: { authorization: "Bearer abc", "x-page": "2" },
    secret: "whsec_abc",
  };
  expect(refused({ webhook })).toEqual({
    put: {
      key: "billing:token",
      payload: { token: "shown" },
      target: {
        webhook: {
          url: "https://***@shop.example/hook?sig=***&page=2&api_key=***",
          headers: { authorization: "***", "x-page": "2" },
          secret: "***",
        },
      },
    },
  });
});

test("A refused command hides the headers and parameters that its own lists name, wherever the lists are", () => {
  const webhook = {
    url: "https://shop.example/hook?who=abc&page=2",
    headers: { "X-Shop": "abc", page: "2" },
  };
  const shown = refused({ webhook, secretHeaders: ["x-shop"], webhooks: [{ secretQuery: ["who"] }] });
  expect(shown).toMatchObject({
    put: {
      target: {
        webhook: { url: "https://shop.example/hook?who=***&page=2", headers: { "X-Shop": "***", page: "2" } },
        secretHeaders: ["x-shop"],
        webhooks: [{ secretQuery: ["who"] }],
      },
    },
  });
});

test("A refused command hides a credential in any text of a URL's form, at any depth", () => {
  expect(refused({ list: [["https://shop.example/?token=abc"]] })).toMatchObject({
    put: { target: { list: [["https://shop.example/?token=***"]] } },
  });
});
