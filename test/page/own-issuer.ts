import type { IncomingMessage, ServerResponse } from "node:http";
import { createRequire } from "node:module";
import { exportJWK, generateKeyPair } from "jose";
import { listenOnLoopback } from "../../lib/tools/local/http-server.ts";

interface Grant {
  addOIDCScope(scope: string): void;
  addResourceScope(resource: string, scope: string): void;
  save(): Promise<string>;
  destroy(): Promise<void>;
}

interface Context {
  oidc: { client: { clientId: string }; session: { accountId: string } };
}

interface Provider {
  readonly Grant: new (of: { clientId: string; accountId: string }) => Grant;
  callback(): (request: IncomingMessage, response: ServerResponse) => void;
  interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>;
}

// The package has no types: these are the parts that these tests use.
const { Provider }: { Provider: new (issuer: string, configuration: object) => Provider } = createRequire(
  import.meta.url,
)("oidc-provider");

/** The API's audience at the issuer. */
export const audience = "https://carillon.example.com";
export const pageClient = "carillon-page";
export const tokenLifeSeconds = 3_600;

/** A real OpenID Connect issuer on a loopback address. */
export interface OwnIssuer {
  url: string;
  /** Ends every session: no refresh token of it is accepted any more. */
  endSessions(): Promise<void>;
  stop(): Promise<void>;
}

/** Its reader presses a button to sign in, and another one to be refused. */
export async function ownIssuer(pageOrigin: string): Promise<OwnIssuer> {
  let answer = (_request: IncomingMessage, response: ServerResponse): void => {
    response.writeHead(503).end();
  };
  const server = await listenOnLoopback(0, (request, response) => answer(request, response));
  const grants: Grant[] = [];
  const provider: Provider = new Provider(server.url, {
    ...(await configuration(pageOrigin)),
    loadExistingGrant: async ({ oidc }: Context) => {
      const grant = new provider.Grant({
        clientId: oidc.client.clientId,
        accountId: oidc.session.accountId,
      });
      grant.addOIDCScope("openid");
      grant.addResourceScope(audience, scopes);
      await grant.save();
      grants.push(grant);
      return grant;
    },
  });
  const callback = provider.callback();
  answer = (request, response) => {
    if (request.url?.startsWith(interactions) !== true) return callback(request, response);
    const result = results[new URL(request.url, server.url).searchParams.get("answer") ?? ""];
    if (result === undefined) response.writeHead(200, { "content-type": "text/html" }).end(form);
    else void provider.interactionFinished(request, response, result);
  };
  return {
    url: server.url,
    endSessions: async () => {
      for (const grant of grants.splice(0)) await grant.destroy();
    },
    stop: () => server.close(0),
  };
}

const interactions = "/interaction/";
const scopes = "carillon/read carillon/write carillon/admin";
const results: Readonly<Record<string, object>> = {
  continue: { login: { accountId: "ada" } },
  refuse: { error: "access_denied", error_description: "Ada is no operator of Carillon" },
};
const form = `<!doctype html><title>Issuer</title><link rel="icon" href="data:,"><form method="get">
  <button name="answer" value="continue">Continue</button>
  <button name="answer" value="refuse">Refuse</button></form>`;

async function configuration(pageOrigin: string): Promise<object> {
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  return {
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: "one", use: "sig", alg: "RS256" }] },
    cookies: { keys: ["a key of these tests"] },
    clients: [
      {
        client_id: pageClient,
        token_endpoint_auth_method: "none",
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        redirect_uris: [`${pageOrigin}/`],
      },
    ],
    clientBasedCORS: (_context: unknown, origin: string) => origin === pageOrigin,
    findAccount: (_context: unknown, sub: string) => ({ accountId: sub, claims: () => ({ sub }) }),
    issueRefreshToken: () => true,
    interactions: { url: (_context: unknown, { uid }: { uid: string }) => `${interactions}${uid}` },
    features: {
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          scope: scopes,
          audience,
          accessTokenTTL: tokenLifeSeconds,
          accessTokenFormat: "jwt",
          jwt: { sign: { alg: "RS256" } },
        }),
      },
    },
    ttl: {
      AccessToken: tokenLifeSeconds,
      IdToken: 86_400,
      RefreshToken: 86_400,
      Session: 86_400,
      Grant: 86_400,
      Interaction: 3_600,
    },
  };
}
