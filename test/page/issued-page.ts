import { freeLoopbackPort } from "../../lib/tools/local/free-port.ts";
import { type JwtGateway, jwtGateway } from "./jwt-gateway.ts";
import { audience, type OwnIssuer, ownIssuer, pageClient } from "./own-issuer.ts";
import { type OwnPage, ownPage } from "./own-page.ts";

/** The page of a deployment with `apiAuth` jwt, and its issuer. */
export interface IssuedPage {
  own: OwnPage;
  issuer: OwnIssuer;
  gateway: JwtGateway;
}

export async function issuedPage(start: string): Promise<IssuedPage> {
  const port = await freeLoopbackPort();
  const issuer = await ownIssuer(`http://127.0.0.1:${port}`);
  const gateway = jwtGateway(issuer.url);
  const page = await ownPage(start, {
    port,
    apiEnv: { API_AUTH: "jwt", API_JWT_SCOPE_CLAIM: "scope", API_JWT_SCOPE_PREFIX: "carillon/" },
    pageEnv: {
      PAGE_ISSUER: issuer.url,
      PAGE_CLIENT_ID: pageClient,
      PAGE_SCOPES: "openid carillon/write",
      PAGE_SIGN_IN_PARAMETERS: `resource=${audience}`,
    },
    authorized: gateway.authorized,
  });
  const own = {
    ...page,
    stop: async () => {
      await page.stop();
      await issuer.stop();
    },
  };
  return { own, issuer, gateway };
}
