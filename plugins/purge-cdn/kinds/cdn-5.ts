/** CloudFront, API version 2020-05-31: https://docs.aws.amazon.com/cloudfront/latest/APIReference/API_CreateInvalidation.html */
import { type Signer, signRequest } from 'svc/plugins/auth-sigv4/api'
import {
  CallFailure,
  encodePath,
  failureOf,
  type PurgeOperation,
  type PurgeWebhookContext,
  type PurgeWebhookKind,
  pause,
} from 'svc/plugins/purge/api'
import { type Static, Type } from 'typebox'
import { inGroups, secret, tagOf, zone } from '../common.ts'

const Settings = Type.Object({
  zone: zone('Id of the distribution at CloudFront.'),
  clientToken: secret('Id of the access key.'),
  clientSecret: secret('Secret of the access key.'),
  token: Type.Optional(secret('Session token of a temporary access key.')),
})
type Settings = Static<typeof Settings>

const pathsMax = 1000
/** Maximum number of wildcards in all running invalidations. */
const wildcardsMax = 15
const pollMs = 10_000
/** Codes of errors that end by themselves, whatever their status is. */
const passingCodes = new Set(['Throttling', 'TooManyInvalidationsInProgress', 'RequestTimeout', 'ServiceUnavailable'])

interface Call {
  readonly paths: readonly string[]
  readonly wildcards: number
}

export function createCdn5(apiUrl: string): PurgeWebhookKind<typeof Settings> {
  return {
    description: 'CloudFront.',
    settings: Settings,
    limits: { perSecond: 1, burst: 5 },
    tagHeader: tags => ['Cache-Tag', tags.map(tagOf).join(',')],
    connect: (settings, context) => connect(settings, context, apiUrl),
  }
}

function connect(settings: Settings, context: PurgeWebhookContext, apiUrl: string) {
  const { clock, random } = context
  const send = createRequests(settings, context, apiUrl)
  /** Wildcards by the invalidation that they are in. */
  const underWay = new Map<string, number>()

  /** Waits until so many wildcards more may be under way. */
  async function makeRoom(wildcards: number, signal: AbortSignal): Promise<void> {
    const count = () => [...underWay.values()].reduce((sum, each) => sum + each, 0)
    while (underWay.size > 0 && count() + wildcards > wildcardsMax) {
      for (const id of [...underWay.keys()]) {
        const answer = await send('GET', `/${id}`, undefined, signal)
        if (/<Status>Completed<\/Status>/.test(answer)) underWay.delete(id)
      }
      if (count() + wildcards > wildcardsMax) await pause(clock, pollMs, signal)
    }
  }

  return {
    plan: planOf,
    async send({ data }: { readonly data: unknown }, signal: AbortSignal) {
      const { paths, wildcards } = data as Call
      if (wildcards > 0) await makeRoom(wildcards, signal)
      const answer = await send('POST', '', batchOf(paths, random.bytes(16).toString('hex')), signal)
      const id = /<Id>([A-Za-z0-9]{1,64})<\/Id>/.exec(answer)?.[1]
      if (wildcards > 0 && id !== undefined && !answer.includes('<Status>Completed</Status>'))
        underWay.set(id, wildcards)
    },
    async close() {},
  }
}

function createRequests(
  { zone, clientToken, clientSecret, token }: Settings,
  context: PurgeWebhookContext,
  apiUrl: string,
) {
  const signer: Signer = { accessKey: clientToken, secret: clientSecret, region: 'us-east-1', service: 'cloudfront' }
  const { host, origin, pathname } = new URL(apiUrl)
  const base = `${pathname === '/' ? '' : pathname}/2020-05-31/distribution/${zone}/invalidation`

  return async (method: string, path: string, body: string | undefined, signal: AbortSignal): Promise<string> => {
    const nowMs = context.clock.now()
    const signed = signRequest(signer, {
      method,
      host,
      path: `${base}${path}`,
      query: '',
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'text/xml' }),
        ...(token === undefined ? {} : { 'x-amz-security-token': token }),
      },
      payload: body === undefined ? undefined : Buffer.from(body),
      nowMs,
    })
    const { host: _host, ...headers } = signed.headers
    const answer = await context.request({ url: `${origin}${base}${path}`, method, headers, body, signal })
    const text = answer.body.toString()
    const code = /<Code>([A-Za-z]{1,64})<\/Code>/.exec(text)?.[1] ?? ''
    const failure = failureOf(host, answer, nowMs, code)
    if (failure === undefined) return text
    const { message, status, retryAfterMs } = failure
    throw passingCodes.has(code) ? new CallFailure(message, { status, retryAfterMs }) : failure
  }
}

function planOf(operations: readonly PurgeOperation[]) {
  const widened: string[] = []
  const paths = new Set<string>()
  for (const operation of operations) {
    switch (operation.kind) {
      case 'all':
      case 'domain':
        // Hosts are not told apart.
        if (operation.kind === 'domain') widened.push(`the domain ${operation.host} as everything`)
        paths.clear()
        paths.add('/*')
        return { calls: callsOf([...paths]), widened }
      case 'url':
        paths.add(escaped(operation.path))
        break
      case 'prefix':
        paths.add(`${escaped(operation.path)}*`)
        break
      case 'pattern':
        paths.add(`${escaped(operation.literal)}*`)
        widened.push(`the ${operation.type} ${operation.pattern} as ${operation.literal}*`)
        break
      case 'tag':
        paths.add(`#${tagOf(operation.tag)}`)
    }
  }
  return { calls: callsOf([...paths]), widened }
}

/** An asterisk in a name would be a wildcard. */
const escaped = (path: string): string => encodePath(path).replaceAll('*', '%2A')

function callsOf(paths: readonly string[]) {
  const wild = paths.filter(path => path.endsWith('*'))
  const plain = paths.filter(path => !path.endsWith('*'))
  return [...inGroups(plain, pathsMax), ...inGroups(wild, wildcardsMax)].map(group => {
    const data: Call = { paths: group, wildcards: group.filter(path => path.endsWith('*')).length }
    return { summary: `${group.length} paths`, data }
  })
}

function batchOf(paths: readonly string[], reference: string): string {
  const items = paths.map(path => `<Path>${escapeXml(path)}</Path>`).join('')
  return (
    '<?xml version="1.0" encoding="UTF-8"?>' +
    '<InvalidationBatch xmlns="http://cloudfront.amazonaws.com/doc/2020-05-31/">' +
    `<Paths><Quantity>${paths.length}</Quantity><Items>${items}</Items></Paths>` +
    `<CallerReference>${reference}</CallerReference></InvalidationBatch>`
  )
}

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
