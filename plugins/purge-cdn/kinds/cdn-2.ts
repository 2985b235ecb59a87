/** Fastly: https://www.fastly.com/documentation/reference/api/purging/ */
import { encodePath, type PurgeCall, type PurgeOperation, type PurgeWebhookKind } from 'svc/plugins/purge/api'
import { Type } from 'typebox'
import { impossible, inGroups, post, secret, tagOf, zone } from '../common.ts'

const Settings = Type.Object({
  zone: Type.Optional(zone('Id of the service: needed for tags, and for everything that is no single URL.')),
  token: secret('API token with the right to purge.'),
})

const keysMax = 256
/** Every answer has this key, so that everything can be purged softly. */
export const everythingKey = 'svc-all'

interface Call {
  readonly path: string
  readonly isSoft: boolean
  readonly body?: object
}

export function createCdn2(apiUrl: string): PurgeWebhookKind<typeof Settings> {
  return {
    description: 'Fastly.',
    settings: Settings,
    limits: { perSecond: 25, burst: 100 },
    tagHeader: tags => ['Surrogate-Key', [...tags.map(tagOf), everythingKey].join(' ')],
    connect({ zone, token }, context) {
      return {
        plan: operations => planOf(operations, zone),
        async send({ data }, signal) {
          const { path, isSoft, body } = data as Call
          const headers = {
            'fastly-key': token,
            accept: 'application/json',
            ...(isSoft && { 'fastly-soft-purge': '1' }),
            ...(body !== undefined && { 'content-type': 'application/json' }),
          }
          const text = body === undefined ? undefined : JSON.stringify(body)
          await post(context, { url: `${apiUrl}${path}`, headers, ...(text !== undefined && { body: text }) }, signal)
        },
        async close() {},
      }
    },
  }
}

function planOf(operations: readonly PurgeOperation[], service: string | undefined) {
  const isWhole = ({ kind }: PurgeOperation) => kind !== 'url' && kind !== 'tag'
  const whole = operations.filter(isWhole)
  const widened = whole.filter(({ kind }) => kind !== 'all').map(each => `${described(each)} as everything`)
  if (service === undefined && operations.some(({ kind }) => kind !== 'url')) {
    const problem = 'only single URLs can be purged: set the zone, which is the id of the service'
    return { calls: [...callsForUrls(operations), impossible(problem)], widened }
  }
  if (whole.some(({ isSoft }) => !isSoft)) return { calls: [callForAll(service!, false)], widened }
  // A soft purge of everything leaves what has to be forgotten.
  const left = whole.length > 0 ? operations.filter(({ isSoft }) => !isSoft) : operations
  const all = whole.length > 0 ? [callForAll(service!, true)] : []
  return { calls: [...all, ...callsForUrls(left), ...callsForTags(left, service ?? '')], widened }
}

function callsForUrls(operations: readonly PurgeOperation[]): PurgeCall[] {
  return operations.flatMap(operation => {
    if (operation.kind !== 'url') return []
    const path = `/purge/${operation.host}${encodePath(operation.path)}`
    return [{ summary: '1 URL', data: { path, isSoft: operation.isSoft } satisfies Call }]
  })
}

function callsForTags(operations: readonly PurgeOperation[], service: string): PurgeCall[] {
  return [false, true].flatMap(isSoft => {
    const keys = operations.flatMap(each => (each.kind === 'tag' && each.isSoft === isSoft ? [tagOf(each.tag)] : []))
    return inGroups(keys, keysMax).map(surrogate_keys => {
      const data: Call = { path: `/service/${service}/purge`, isSoft, body: { surrogate_keys } }
      return { summary: `${surrogate_keys.length} keys`, data }
    })
  })
}

function callForAll(service: string, isSoft: boolean): PurgeCall {
  // The API has no soft purge of everything.
  const data: Call = isSoft
    ? { path: `/service/${service}/purge`, isSoft, body: { surrogate_keys: [everythingKey] } }
    : { path: `/service/${service}/purge_all`, isSoft }
  return { summary: 'everything', data }
}

const described = (operation: PurgeOperation): string =>
  operation.kind === 'prefix'
    ? `the prefix ${operation.path}`
    : operation.kind === 'pattern'
      ? `the ${operation.type} ${operation.pattern}`
      : `the domain ${(operation as { host: string }).host}`
