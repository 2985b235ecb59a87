/** Checks whether documents of the cache may be stored, beside the others that exist or will exist. */
import type { Distribution } from 'svc/plugins/distributions/api'
import type { NormalizeKey } from 'svc/plugins/policy/api'
import { headerSecretCharactersMin, isReference } from 'svc/plugins/secret-references/api'
import { cacheErrors, invalidRequest, requireAll } from '../errors.ts'
import {
  builtInPolicies,
  type CacheLevel,
  type LevelSettings,
  type PartialPolicy,
  resolvePolicy,
} from '../policy/policy.ts'
import { requirePattern } from '../warm/targets.ts'
import { patternKey } from './configuration.ts'
import type { StoredDistributionCache, StoredPolicy, StoredSettings } from './documents.ts'
import { type LevelFields, readLevel, readPolicy, requireOrder } from './fields.ts'

export const policiesMax = 200

/** All cache settings of operators, by name and id. */
export interface CacheValues {
  readonly settings: StoredSettings | undefined
  readonly policies: ReadonlyMap<string, StoredPolicy>
  readonly distributions: ReadonlyMap<string, StoredDistributionCache>
}

export type DistributionCacheContent = Pick<StoredDistributionCache, 'cache' | 'domains' | 'behaviors' | 'warmOnWrite'>

const namedIn =
  ({ policies }: CacheValues) =>
  (name: string): PartialPolicy | undefined => {
    const found = policies.get(name)
    return found && readPolicy(found.policy)
  }

export function requireSettings({ cache, debug: { secret } }: StoredSettings, values: CacheValues): void {
  requireAll([
    () => {
      if (secret === '' || isReference(secret) || secret.length >= headerSecretCharactersMin) return
      throw invalidRequest(
        '/debug/secret',
        `has less than ${headerSecretCharactersMin} characters, so that it could be guessed: give a longer one, or none`,
      )
    },
    () => requireLevels([['cluster', cache, '/cache']], namedIn(values)),
  ])
}

/** `isKept`: whether a pattern to warm stands there already, or comes from an archive: it stays, however it is written. */
export function requireDistribution(
  { id, aliases, behaviors }: Pick<Distribution, 'id' | 'aliases' | 'behaviors'>,
  value: DistributionCacheContent,
  values: CacheValues,
  normalizeKey: NormalizeKey,
  isKept: (pattern: string) => boolean,
): void {
  const find = namedIn(values)
  const above: Levels = [
    ['cluster', values.settings?.cache ?? {}, '/cache'],
    ['distribution', value.cache, '/cache'],
  ]
  const patterns = new Set(behaviors.map(({ pathPattern }) => patternKey(pathPattern, normalizeKey)))
  const refuse = (element: string, isWrong: boolean, message: string) => () => {
    if (isWrong) throw invalidRequest(element, message)
  }
  requireAll([
    ...value.warmOnWrite.map((pattern, index) => () => {
      requirePattern({ type: 'glob', pattern }, `/warmOnWrite/${index}`, isKept(pattern))
    }),
    () => requireLevels(above, find),
    ...value.domains.flatMap(({ host, cache }, index) => [
      refuse(`/domains/${index}/host`, !aliases.includes(host), `is no alias of the distribution ${id}`),
      () => requireLevels([...above, ['domain', cache, `/domains/${index}/cache`]], find),
    ]),
    ...value.behaviors.flatMap(({ pathPattern, cache }, index) => [
      refuse(
        `/behaviors/${index}/pathPattern`,
        !patterns.has(patternKey(pathPattern, normalizeKey)),
        `is of no behavior of the distribution ${id}`,
      ),
      () => requireLevels([...above, ['behavior', cache, `/behaviors/${index}/cache`]], find),
    ]),
  ])
}

/** `webhooks`: ids of the webhooks that the distribution has, or will have. */
export function requireWebhooks(
  { id }: Pick<Distribution, 'id'>,
  { cache, domains, behaviors }: DistributionCacheContent,
  webhooks: ReadonlySet<string>,
): void {
  const given = [
    ['', cache] as const,
    ...domains.map((domain, index) => [`/domains/${index}`, domain.cache] as const),
    ...behaviors.map((behavior, index) => [`/behaviors/${index}`, behavior.cache] as const),
  ]
  for (const [element, { purgeWebhooks = [] }] of given) {
    const unknown = purgeWebhooks.findIndex(name => !webhooks.has(name))
    if (unknown < 0) continue
    throw invalidRequest(
      `${element}/cache/purgeWebhooks/${unknown}`,
      `is ${JSON.stringify(purgeWebhooks[unknown])}, the id of no webhook of the distribution ${id}: add it to webhooks, or leave it out`,
    )
  }
}

export function requirePolicyRoom(count: number): void {
  if (count > policiesMax) throw invalidRequest('', `would be more than ${policiesMax} cache policies`)
}

type Levels = readonly (readonly [level: CacheLevel, fields: LevelFields, element: string])[]

/** Throws for wrong fields of any level, and for an unknown policy or times out of order at the last level. */
function requireLevels(given: Levels, named: (name: string) => PartialPolicy | undefined): void {
  const settings: Partial<Record<CacheLevel, LevelSettings>> = {}
  const read = ([level, fields, element]: Levels[number]) => {
    settings[level] = readLevel(fields, element)
  }
  requireAll(given.map(level => () => read(level)))
  const [, { policy }, element] = given.at(-1) as Levels[number]
  if (policy !== undefined && !builtInPolicies.has(policy) && named(policy) === undefined)
    throw noPolicy(policy, `${element}/policy`)
  requireOrder(resolvePolicy(settings, named).policy, settings[given.at(-1)![0]] ?? {}, element)
}

export function requirePolicy({ policy }: StoredPolicy): void {
  const given = readPolicy(policy)
  requireOrder(resolvePolicy({ cluster: given }).policy, given, '')
}

export function requireCustom(name: string): void {
  if (builtInPolicies.has(name)) throw cacheErrors.builtin_cache_policy(`The cache policy ${name} is built in.`)
}

/** `element`: the field that names it. */
export function noPolicy(name: string, element?: string): Error {
  const message = `There is no cache policy ${JSON.stringify(name)}.`
  if (element === undefined) return cacheErrors.cache_policy_not_found(message)
  return cacheErrors.cache_policy_not_found(`${element}: ${message}`, { cause: [{ element, message }] })
}

/** Throws `cache_policy_in_use`, whose message says which settings name the policy. */
export function requireUnused(name: string, { settings, distributions }: CacheValues): void {
  const user = userOf(name, settings, distributions)
  if (user !== undefined) throw cacheErrors.cache_policy_in_use(`The cache policy ${name} is in use: ${user}.`)
}

/** Which settings name the policy, as a sentence without a full stop; undefined if none do. */
function userOf(
  name: string,
  settings: StoredSettings | undefined,
  distributions: CacheValues['distributions'],
): string | undefined {
  if (settings?.cache.policy === name) return 'the settings of the cluster name it'
  for (const [id, { cache, domains, behaviors }] of distributions) {
    const levels = [cache, ...domains.map(domain => domain.cache), ...behaviors.map(behavior => behavior.cache)]
    if (levels.some(({ policy }) => policy === name)) return `the cache of the distribution ${id} names it`
  }
  return undefined
}
