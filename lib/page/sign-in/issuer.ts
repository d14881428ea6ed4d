import {
  AuthorizationResponseError,
  type AuthorizationServer,
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  calculatePKCECodeChallenge,
  discoveryRequest,
  generateRandomCodeVerifier,
  generateRandomNonce,
  generateRandomState,
  None,
  processAuthorizationCodeResponse,
  processDiscoveryResponse,
  processRefreshTokenResponse,
  ResponseBodyError,
  refreshTokenGrantRequest,
  type TokenEndpointResponse,
  validateAuthResponse,
  WWWAuthenticateChallengeError,
} from "oauth4webapi";
import type { SignInSettings } from "../../config/sign-in-settings.ts";
import { type IssuedTokens, timesOf } from "./issued-tokens.ts";
import { type IssuerAnswer, keepPending } from "./pending.ts";
import { issuerName } from "./settings.ts";
import { SignInFault } from "./sign-in-fault.ts";

// The library is in a chunk of its own with this file: import it with `import()` only.

/** An issuer that takes longer counts as away. */
const answerMs = 15_000;

/** The issuer's address to send the reader to. The tab keeps what its answer is checked against. */
export async function beginSignIn(settings: SignInSettings): Promise<string> {
  const { authorization_endpoint: endpoint } = await discovered(settings);
  if (endpoint === undefined)
    throw new SignInFault(`${issuerName(settings)} names no address for signing in.`);
  const verifier = generateRandomCodeVerifier();
  const [state, nonce] = [generateRandomState(), generateRandomNonce()];
  const url = new URL(endpoint);
  for (const [name, value] of settings.parameters) url.searchParams.append(name, value);
  const own = {
    response_type: "code",
    client_id: settings.clientId,
    redirect_uri: pageRoot(),
    scope: settings.scope,
    state,
    nonce,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(own)) url.searchParams.set(name, value);
  keepPending({ state, nonce, verifier, address: location.href.replace(/#.*$/, "") });
  return url.href;
}

/** Exchanges the code in the issuer's answer for tokens, once the answer has been checked. */
export async function finishSignIn(
  settings: SignInSettings,
  { parameters, pending }: IssuerAnswer,
): Promise<IssuedTokens> {
  if (pending === null)
    throw new SignInFault(
      "The answer in the address belongs to no sign-in of this tab, and was not used. Sign in again.",
    );
  const server = await discovered(settings);
  const client = clientOf(settings);
  return within(settings, async () => {
    const checked = validateAuthResponse(server, client, parameters, pending.state);
    const response = await authorizationCodeGrantRequest(
      server,
      client,
      None(),
      checked,
      pageRoot(),
      pending.verifier,
      requestOptions(settings),
    );
    const { nonce: expectedNonce } = pending;
    const options = { expectedNonce, requireIdToken: true };
    return tokensOf(await processAuthorizationCodeResponse(server, client, response, options), null);
  });
}

/** New tokens for a refresh token. */
export async function renewTokens(settings: SignInSettings, refresh: string): Promise<IssuedTokens> {
  const server = await discovered(settings);
  const client = clientOf(settings);
  return within(settings, async () => {
    const options = requestOptions(settings);
    const response = await refreshTokenGrantRequest(server, client, None(), refresh, options);
    // An issuer that keeps the refresh token does not send it again.
    return tokensOf(await processRefreshTokenResponse(server, client, response), refresh);
  });
}

const clientOf = ({ clientId }: SignInSettings) => ({ client_id: clientId });

/** The address that the issuer sends the reader back to: the page's root. */
const pageRoot = () => new URL(document.baseURI).href;

function tokensOf(answer: TokenEndpointResponse, earlier: string | null): IssuedTokens {
  const { access_token: access, refresh_token: refresh = earlier, expires_in: lifeSeconds } = answer;
  return { access, refresh, ...timesOf(lifeSeconds, Date.now()) };
}

/** RFC 8707 has `resource` in the requests for tokens too, and no other parameter of the sign-in. */
function requestOptions(settings: SignInSettings) {
  const additionalParameters = settings.parameters
    .filter(([name]) => name === "resource")
    .map(([name, value]) => [name, value]);
  return { ...fetchOptions(settings), additionalParameters };
}

function fetchOptions({ issuer }: SignInSettings) {
  const { hostname } = new URL(issuer);
  const isHere = hostname === "localhost" || hostname === "127.0.0.1" || hostname === "[::1]";
  return { signal: AbortSignal.timeout(answerMs), [allowInsecureRequests]: isHere };
}

let known: AuthorizationServer | null = null;

/** The issuer's description of itself. The page has one issuer. */
async function discovered(settings: SignInSettings): Promise<AuthorizationServer> {
  known ??= await within(settings, async () => {
    const issuer = new URL(settings.issuer);
    return processDiscoveryResponse(issuer, await discoveryRequest(issuer, fetchOptions(settings)));
  });
  return known;
}

/** Says in a sentence why the issuer's answer, or the lack of one, ends the sign-in. */
async function within<Result>(settings: SignInSettings, ask: () => Promise<Result>): Promise<Result> {
  try {
    return await ask();
  } catch (error) {
    const name = issuerName(settings);
    if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError)
      throw new SignInFault(`${name} refused the sign-in: ${refusalText(error)}`, "refused");
    if (error instanceof WWWAuthenticateChallengeError)
      throw new SignInFault(
        `${name} asks for a secret. The page has none: its client, pageClientId, has to be a public one.`,
        "refused",
      );
    if (error instanceof DOMException || error instanceof TypeError)
      throw new SignInFault(`${name} does not answer. It may be away, or not allow calls from this page.`);
    const reason = error instanceof Error ? error.message : String(error);
    throw new SignInFault(`The answer of ${name} does not fit this sign-in: ${reason}.`);
  }
}

function refusalText({ error, error_description: text }: AuthorizationResponseError | ResponseBodyError) {
  if (text === undefined || text === "") return `${error}.`;
  return `${text.replace(/[.\s]*$/, "")} (${error}).`;
}
