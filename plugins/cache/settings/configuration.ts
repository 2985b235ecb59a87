/**
 * Compiles the documents into the effective policy of each place of a request. A thread whose configuration is not that of the current head document
 * compiles it again before it serves, so an acknowledged change is in force for the next request in every thread.
 */
import { createHash } from 'node:crypto'
import type { Logger, MaybePromise } from 'svc/kernel'
import type { PathPattern } from 'svc/plugins/distributions/api'
import type { NormalizeKey } from 'svc/plugins/policy/api'
import { everyDocument } from 'svc/plugins/store/api'
import {
  type EffectivePolicy,
  type LevelSettings,
  type NamedWebhooks,
  namedWebhooks,
  type PartialPolicy,
  type Quota,
  resolvePolicy,
} from '../policy/policy.ts'
import { type CacheDocuments, clusterId, defaultSettings, headId, type StoredSettings } from './documents.ts'
import { type LevelFields, readLevel, readPolicy } from './fields.ts'

/** The place of a request, which decides about its policy. */
export interface PolicyPlace {
  readonly distribution: string
  /** Creation time of the distribution: settings of a former distribution with the same id do not count. */
  readonly createdMs: number
  readonly alias: string
  /** Pattern of the behavior; undefined for the default behavior. */
  readonly pathPattern?: PathPattern | undefined
}

/** A text that is the same for equal patterns, whatever the order of their fields and the form of their Unicode. */
export const patternKey = (
  { type, pattern, caseInsensitive = false }: PathPattern,
  normalizeKey: NormalizeKey,
): string => `${type} ${caseInsensitive} ${normalizeKey(pattern)}`

export interface PlacedPolicy extends EffectivePolicy {
  /** Digest of all settings that shape answers. */
  readonly digest: string
  /** True: nothing is read from or put into the cache. */
  readonly isOff: boolean
}

/** Immutable: a change makes a new one. */
export interface CacheConfiguration {
  readonly settings: StoredSettings
  /** All quotas, each behind the quota that it is within. */
  readonly quotas: readonly Quota[]
  policyOf(place: PolicyPlace): PlacedPolicy
  /**
   * The webhooks of the distribution that are told about purges at this place; undefined: all of them. The same as in the policy, for callers with
   * many places.
   */
  webhooksOf(place: PolicyPlace): NamedWebhooks | undefined
}

interface Site {
  readonly createdMs: number
  readonly cache: LevelSettings
  readonly domains: ReadonlyMap<string, LevelSettings>
  readonly behaviors: ReadonlyMap<string, LevelSettings>
}

/** Answers that were cached with other quotas are not counted by these, so they must not be found: the digest has these ids. */
const quotaIds = (quota: Quota | undefined): readonly string[] =>
  quota === undefined ? [] : [quota.id, ...quotaIds(quota.within)]

function quotaOf(
  { distribution, createdMs, alias }: PolicyPlace,
  site: LevelSettings | undefined,
  domain: LevelSettings | undefined,
): Quota | undefined {
  const id = `${distribution} ${createdMs}`
  const whole: Quota | undefined =
    site?.quota === undefined ? undefined : { id, level: 'distribution', bytes: site.quota, within: undefined }
  if (domain?.quota === undefined) return whole
  return { id: `${id} ${alias}`, level: 'domain', bytes: domain.quota, within: whole }
}

function quotasOf(sites: ReadonlyMap<string, Site>): readonly Quota[] {
  return [...sites].flatMap(([distribution, { createdMs, cache, domains }]) => {
    const at = (alias: string, domain?: LevelSettings) =>
      quotaOf({ distribution, createdMs, alias }, cache, domain) ?? []
    return [at(''), ...[...domains].map(([alias, domain]) => at(alias, domain))].flat()
  })
}

export function placed(policy: EffectivePolicy): PlacedPolicy {
  const digest = createHash('sha256')
    .update(JSON.stringify([policy.policy, policy.autoInvalidate, ...quotaIds(policy.quota)]))
    .digest('base64url')
  return { ...policy, digest, isOff: !policy.enabled || policy.policy.bypass.always }
}

/** Reads fields. If another release has written them and this one cannot read them, the cache is off at their level. */
function tolerant<Result>(log: Logger, what: string, read: () => Result, otherwise: Result): Result {
  try {
    return read()
  } catch (error) {
    log.error({ reason: (error as Error).message }, `${what} cannot be read: nothing is cached by it`)
    return otherwise
  }
}

/** `onChange` is called with each configuration before any request is answered with it. */
export function createConfigurations(
  documents: CacheDocuments,
  log: Logger,
  normalizeKey: NormalizeKey,
  onChange: (configuration: CacheConfiguration) => void = () => undefined,
) {
  let current: { readonly sequence: number; readonly configuration: CacheConfiguration } | undefined
  let making: { readonly sequence: number; readonly work: Promise<CacheConfiguration> } | undefined

  const level = (fields: LevelFields, what: string): LevelSettings =>
    tolerant(log, what, () => readLevel(fields), { enabled: false })

  async function make(sequence: number): Promise<CacheConfiguration> {
    const settings = (await documents.settings.get(clusterId))?.value ?? defaultSettings
    const policies = new Map<string, PartialPolicy>()
    for (const { id, value } of await everyDocument(documents.policies)) {
      policies.set(
        id,
        tolerant(log, `the cache policy ${id}`, () => readPolicy(value.policy), { bypass: { always: true } }),
      )
    }
    const sites = new Map<string, Site>()
    for (const { id, value } of await everyDocument(documents.distributions)) {
      const what = `the cache of the distribution ${id}`
      sites.set(id, {
        createdMs: value.distributionCreatedMs,
        cache: level(value.cache, what),
        domains: new Map(value.domains.map(({ host, cache }) => [host, level(cache, what)])),
        behaviors: new Map(
          value.behaviors.map(one => [patternKey(one.pathPattern, normalizeKey), level(one.cache, what)]),
        ),
      })
    }
    const cluster = level(settings.cache, 'the cache settings of the cluster')
    const levelsOf = ({ distribution, createdMs, alias, pathPattern }: PolicyPlace) => {
      const found = sites.get(distribution)
      const site = found?.createdMs === createdMs ? found : undefined
      const domain = site?.domains.get(alias)
      const behavior =
        pathPattern === undefined ? undefined : site?.behaviors.get(patternKey(pathPattern, normalizeKey))
      return {
        cluster,
        ...(site !== undefined && { distribution: site.cache }),
        ...(domain !== undefined && { domain }),
        ...(behavior !== undefined && { behavior }),
      }
    }
    const configuration: CacheConfiguration = {
      settings,
      quotas: quotasOf(sites),
      policyOf(place) {
        const named = levelsOf(place)
        const policy = resolvePolicy(named, name => policies.get(name))
        return placed({ ...policy, quota: quotaOf(place, named.distribution, named.domain) })
      },
      webhooksOf: place => namedWebhooks(levelsOf(place)),
    }
    if (current === undefined || sequence >= current.sequence) {
      current = { sequence, configuration }
      onChange(configuration)
    }
    return configuration
  }

  function of(sequence: number): MaybePromise<CacheConfiguration> {
    if (current?.sequence === sequence) return current.configuration
    if (making?.sequence === sequence) return making.work
    const work = make(sequence).finally(() => {
      if (making?.work === work) making = undefined
    })
    making = { sequence, work }
    return work
  }

  /** The configuration as of the last acknowledged change. */
  return function configuration(): MaybePromise<CacheConfiguration> {
    const head = documents.heads.get(headId)
    return head instanceof Promise ? head.then(read => of(read?.sequence ?? 0)) : of(head?.sequence ?? 0)
  }
}
