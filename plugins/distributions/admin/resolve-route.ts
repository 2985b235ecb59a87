import { defineAdminOperation, type FieldProblem, invalidFields } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { asHost, normalizeHost } from '../hosts.ts'
import type {} from '../service.ts'
import { manage, mayManageAs } from './distribution-request.ts'

const RoutingResolution = Type.Object(
  {
    host: Type.String(),
    normalizedHost: Type.String(),
    listener: Type.String(),
    step: Type.Enum(['a', 'b', 'c', 'd', 'e']),
    match: Type.Enum(['exact', 'wildcard', 'bucket-domain', 'main', 'path-style', 'misdirected']),
    alias: Type.Optional(Type.String()),
    distribution: Type.Optional(Type.String()),
    enabled: Type.Optional(Type.Boolean()),
    mode: Type.Optional(Type.String()),
    bucket: Type.Optional(Type.String()),
    behavior: Type.Optional(
      Type.Object({
        index: Type.Integer({ description: '-1: the default.' }),
        pathPattern: Type.Optional(Type.Unknown()),
        access: Type.String(),
      }),
    ),
    certificate: Type.Optional(
      Type.Object(
        { id: Type.String(), state: Type.String(), notAfter: Type.String() },
        {
          description:
            'What a TLS connection for the host gets at its next handshake; absent where the listener speaks plain HTTP, or refuses the handshake.',
        },
      ),
    ),
    status: Type.Integer({ description: '421 when misdirected, 403 when disabled, otherwise 0.' }),
    reason: Type.String(),
    shadowed: Type.Array(Type.Object({ distribution: Type.String(), alias: Type.String() }), {
      description: 'Less specific wildcards that would match, too.',
    }),
  },
  { $id: 'RoutingResolution' },
)

const reasons = {
  a: 'The host is an alias of the distribution.',
  b: 'A wildcard of the distribution covers the host.',
  c: 'The host names a bucket below SVC_DOMAIN: S3.',
  d: 'The host belongs to the server itself.',
  e: 'Nobody has this host.',
}

export default defineAdminOperation({
  id: 'resolveRoute',
  method: 'GET',
  path: '/routing/resolve',
  tag: 'distributions',
  summary: 'Returns the distribution or endpoint that answers a host, by the rules for requests.',
  authorize: [manage],
  query: Type.Object({
    host: Type.String({ minLength: 1, maxLength: 260 }),
    path: Type.String({ default: '/', maxLength: 4096 }),
    listener: Type.Enum(['s3', 'web', 'web-tls', 'console'], { default: 's3' }),
    method: Type.String({ default: 'GET', maxLength: 16 }),
  }),
  response: RoutingResolution,
  uses: ['distributionsAdmin'],
  async handle(request, { distributionsAdmin: distributions }) {
    const { host, path, listener } = request.query
    requireAddress(host, path)
    const { route, others, problem, certificate } = await distributions.route(host, listener)
    const { step, match } = route
    const base = {
      host,
      normalizedHost: normalizeHost(asHost(host)),
      listener,
      step,
      match,
      reason: problem ?? reasons[step],
      ...(certificate === undefined ? {} : { certificate }),
    }
    if (!('found' in route)) {
      const bucket = 'bucket' in route ? { bucket: route.bucket } : {}
      return { ...base, ...bucket, status: match === 'misdirected' ? 421 : 0, shadowed: [] }
    }
    const { alias, value } = route.found
    const { distribution, server } = value
    await request.authorize([manage], { bucket: distribution.origin.bucket })
    const found = server.behaviorOf?.(path)
    const pathPattern = found === undefined ? undefined : distribution.behaviors[found.index]?.pathPattern
    const mayManage = mayManageAs(request)
    const shadowed = []
    for (const other of others) {
      const { bucket } = await distributions.get(other.id)
      if (await mayManage(bucket)) shadowed.push({ distribution: other.id, alias: other.alias })
    }
    return {
      ...base,
      alias,
      distribution: distribution.id,
      enabled: distribution.enabled,
      mode: distribution.mode,
      bucket: distribution.origin.bucket,
      ...(found === undefined ? {} : { behavior: { ...found, ...(pathPattern === undefined ? {} : { pathPattern }) } }),
      status: distribution.enabled ? 0 : 403,
      shadowed,
    }
  },
})

/** What no request can have is told, and not answered like a host that nobody has. */
function requireAddress(host: string, path: string): void {
  const problems: FieldProblem[] = []
  const url = URL.parse(`http://${host}`)
  if (url === null || url.href !== `${url.origin}/` || /[\s\\/?#@]/.test(host)) {
    problems.push({ element: 'query/host', message: 'must be a host, such as www.example.com, with or without a port' })
  }
  if (!path.startsWith('/')) problems.push({ element: 'query/path', message: 'must begin with a slash' })
  if (problems.length > 0) throw invalidFields(problems)
}
