import { z } from "zod";
import type { Template } from "../gaps.ts";

type Resource = Template["Resources"][string];

/** The address of a server that runs the functions of the API, such as `http://127.0.0.1:8787`. */
export type Address = `http://127.0.0.1:${number}`;

const method = z.looseObject({
  ResourceId: z.unknown(),
  Integration: z.looseObject({ Type: z.string() }).optional(),
});
const place = z.looseObject({ PathPart: z.string(), ParentId: z.unknown() });
const reference = z.strictObject({ Ref: z.string() });

/**
 * A method of the REST API that invokes a function passes its requests on to a server instead, on the same path
 * and without a change. Any other resource stays.
 */
export function overHttp(resource: Resource, { Resources }: Template, server: Address): Resource {
  if (resource.Type !== "AWS::ApiGateway::Method") return resource;
  const { Integration, ...others } = method.parse(resource.Properties);
  if (Integration?.Type !== "AWS_PROXY") return resource;
  const path = pathOf(others.ResourceId, Resources);
  const Properties = {
    ...others,
    ...(path.includes("{proxy}") && { RequestParameters: { "method.request.path.proxy": true } }),
    Integration: {
      Type: "HTTP_PROXY",
      IntegrationHttpMethod: "ANY",
      Uri: `${server}${path}`,
      ...(path.includes("{proxy}") && {
        RequestParameters: { "integration.request.path.proxy": "method.request.path.proxy" },
      }),
    },
  };
  return { ...resource, Properties };
}

/** The path of an API's resource; `{proxy+}` is named `{proxy}` in the address of a server. */
function pathOf(id: unknown, resources: Template["Resources"]): string {
  const parts: string[] = [];
  // The root is an attribute of the API and not a resource.
  for (let ref = reference.safeParse(id).data; ref !== undefined; ) {
    const { PathPart, ParentId } = place.parse(resources[ref.Ref]?.Properties);
    parts.unshift(PathPart.replace("+}", "}"));
    ref = reference.safeParse(ParentId).data;
  }
  return `/${parts.join("/")}`;
}
