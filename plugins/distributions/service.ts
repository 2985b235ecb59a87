/** The service of the Admin API's operations. */

import { type Clock, type MaybePromise, parseDuration, type Random } from 'svc/kernel'
import { adminErrors } from 'svc/plugins/admin/api'
import type { ForceOptions } from 'svc/plugins/certificates/api'
import type { ListenerName } from 'svc/plugins/http/api'
import type { Preconditions, StoredDocument } from 'svc/plugins/store/api'
import type { MayManage, SaverRights } from './api.ts'
import type { DistributionCertificates, PresentedCertificate } from './certificates.ts'
import type { Distribution, StoredDistribution } from './document.ts'
import { distributionErrors } from './errors.ts'
import { createHostTable } from './host-table.ts'
import { asHost, covers, normalizeHost } from './hosts.ts'
import { hashSecret, secretsMax } from './origin-secret.ts'
import { randomSecret } from './random-secret.ts'
import type { Registry } from './registry.ts'
import { type Route, type RoutingRules, routeHost } from './routing.ts'
import { type SaveDistribution, type SaveRequest, viewOf } from './saving.ts'
import type { SignUrl, WantedSignature } from './signing.ts'
import type { Standing, StandingOf } from './standing.ts'
import { type TestRequest, type TestResult, testDistribution } from './trial.ts'
import type { Ready } from './visit.ts'

export type DistributionView = ReturnType<typeof viewOf> & Standing & { readonly warnings?: string[] }

export interface Rotated {
  readonly name: string
  /** The new secret in clear; it is shown only this once. */
  readonly value: string
  readonly previousExpiresAt: string
}

export interface RemoveOptions extends Pick<Preconditions, 'ifMatch'>, ForceOptions {}

export interface ListedDistribution extends Pick<Distribution, 'id' | 'aliases' | 'origin'> {
  readonly view: () => Promise<DistributionView>
}

export interface ShadowedAlias {
  readonly domain: string
  readonly wildcard: string
  readonly other: Distribution
}

export interface DistributionsAdmin {
  readonly save: SaveDistribution
  view(distribution: Distribution, document?: StoredDocument<StoredDistribution>): Promise<DistributionView>
  /** Throws `distribution_not_found`. */
  get(id: string): Promise<{ readonly view: DistributionView; readonly bucket: string }>
  /** For each of these aliases the wildcard of another distribution that has it, if this one is gone. */
  shadowedBy(id: string, aliases: readonly string[]): Promise<readonly ShadowedAlias[]>
  /** All distributions, ordered by id; `view` is made of those that are shown. */
  list(): Promise<readonly ListedDistribution[]>
  /** Throws `distribution_not_found`, `access_denied`, `precondition_failed`, and `certificate_served` without `force`. */
  remove(id: string, mayManage: MayManage, options?: RemoveOptions): Promise<void>
  rotate(id: string, mayManage: MayManage, keepPreviousFor: string): Promise<Rotated>
  /** Throws `distribution_not_found`, and the errors of `SignUrl`. */
  sign(id: string, mayUse: (bucket: string) => MaybePromise<void>, wanted: WantedSignature): ReturnType<SignUrl>
  /**
   * `draft` instead of what is stored: checked like a change, and not stored; throws what `save` throws. Throws `distribution_not_found`,
   * and `invalid_argument` for a URL that is not of this distribution.
   */
  test(id: string, request: TestRequest, draft?: Pick<SaveRequest, 'input'> & SaverRights): Promise<TestResult>
  route(
    host: string,
    listener: ListenerName,
  ): Promise<{
    readonly route: Route<Ready>
    /** Why a distribution that has this host does not answer. */
    readonly problem: string | undefined
    readonly others: readonly { alias: string; id: string }[]
    /** The certificate of a TLS connection; undefined if the connection is refused or the listener speaks plain HTTP. */
    readonly certificate: PresentedCertificate | undefined
  }>
}

export interface AdminServiceOptions {
  readonly registry: Registry<Ready>
  readonly save: SaveDistribution
  readonly certificates: DistributionCertificates
  readonly standingOf: StandingOf
  readonly rules: RoutingRules
  readonly clock: Clock
  readonly random: Random
  /** Whether a loaded plugin serves a mode. */
  readonly isServed: (mode: string) => boolean
  /** Makes what is only tested ready. */
  readonly compileDraft: (distribution: Distribution) => Ready
  /** Undefined: there are no key groups. */
  readonly signUrl: SignUrl | undefined
}

export function createDistributionsAdmin({
  registry,
  save,
  certificates,
  standingOf,
  rules,
  clock,
  random,
  isServed,
  compileDraft,
  signUrl,
}: AdminServiceOptions): DistributionsAdmin {
  const view: DistributionsAdmin['view'] = async (distribution, document) => {
    const shown = { ...viewOf(distribution, document, clock.now()), ...(await standingOf(distribution)) }
    return isServed(distribution.mode) ? shown : { ...shown, warnings: [unserved(distribution.mode)] }
  }
  const viewStored = (document: StoredDocument<StoredDistribution>) =>
    view({ ...document.value, id: document.id }, document)

  async function find(id: string): Promise<StoredDocument<StoredDistribution>> {
    const document = await registry.get(id)
    if (document === undefined) throw distributionErrors.distribution_not_found()
    return document
  }

  return {
    save,
    view,
    async get(id) {
      const document = await find(id)
      return { view: await viewStored(document), bucket: document.value.origin.bucket }
    },
    async shadowedBy(id, aliases) {
      if (rules.isOff) return []
      const { hosts } = await registry.table()
      return aliases.flatMap(domain => {
        const next = hosts
          .all(domain.replace(/^\*\./, ''))
          .find(({ alias, value }) => alias.startsWith('*.') && value.distribution.id !== id)
        return next === undefined ? [] : [{ domain, wildcard: next.alias, other: next.value.distribution }]
      })
    },
    list: async () =>
      (await registry.all()).map(document => {
        const { aliases, origin } = document.value
        return { id: document.id, aliases, origin, view: () => viewStored(document) }
      }),

    async remove(id, mayManage, { ifMatch, force } = {}) {
      await registry.change(async () => {
        const { etag, value } = await find(id)
        if (!(await mayManage(value.origin.bucket))) throw adminErrors.access_denied()
        if (ifMatch !== undefined && ifMatch !== '*' && ifMatch !== etag) throw adminErrors.precondition_failed()
        const also = await certificates.prepareRemoval(id, value, { gone: value.aliases, force })
        return { id, value: undefined, ifMatch: etag, also }
      })
    },

    async rotate(id, mayManage, keepPreviousFor) {
      const keepMs = durationOf(keepPreviousFor)
      const value = randomSecret(random)
      let name = ''
      const expiresMs = clock.now() + keepMs
      await registry.change(async () => {
        const { etag, value: stored } = await find(id)
        if (!(await mayManage(stored.origin.bucket))) throw adminErrors.access_denied()
        const before = stored.restrictions.originSecretHeader
        if (before === undefined) throw adminErrors.conflict('The distribution has no origin secret header to rotate.')
        name = before.name
        const others = before.secrets.map(secret => ({
          ...secret,
          expiresMs: Math.min(secret.expiresMs ?? Number.POSITIVE_INFINITY, expiresMs),
        }))
        const live = others.filter(secret => secret.expiresMs > clock.now()).slice(0, secretsMax - 1)
        const secrets = [hashSecret(value, random), ...live]
        const restrictions = { ...stored.restrictions, originSecretHeader: { name, secrets } }
        return { id, value: { ...stored, restrictions }, ifMatch: etag }
      })
      return { name, value, previousExpiresAt: new Date(expiresMs).toISOString() }
    },

    async sign(id, mayUse, wanted) {
      const { value } = await find(id)
      await mayUse(value.origin.bucket)
      if (signUrl === undefined) throw adminErrors.not_implemented('The plugin key-groups is not loaded.')
      return signUrl({ ...value, id }, wanted)
    },
    async test(id, request, draft) {
      if (draft === undefined) {
        const { value } = await find(id)
        return testDistribution({ ...value, id }, request, (await registry.table()).hosts, clock.now())
      }
      const { distribution } = await save({ ...draft, dryRun: true, force: true })
      const hosts = createHostTable([[distribution.aliases, compileDraft(distribution)]])
      return testDistribution(distribution, request, hosts, clock.now())
    },

    async route(typed, listener) {
      const { hosts } = await registry.table()
      const given = asHost(typed)
      const host = normalizeHost(given)
      const route = routeHost(given, listener, hosts, rules)
      const found = 'found' in route ? route.found : undefined
      const certificate = await certificates.presented(host, listener)
      const others = found === undefined ? [] : hosts.all(found.alias.startsWith('*.') ? host : found.alias)
      const silent = found === undefined ? (await registry.all()).find(hasHost(host)) : undefined
      const problem =
        silent !== undefined && !isServed(silent.value.mode)
          ? `${silent.id}: ${unserved(silent.value.mode)}`
          : undefined
      return {
        route,
        problem,
        certificate,
        others: others
          .filter(other => other.alias !== found?.alias)
          .map(({ alias, value }) => ({ alias, id: value.distribution.id })),
      }
    },
  }
}

export const unserved = (mode: string): string =>
  `No loaded plugin serves the mode ${mode}, so its hosts answer 421: load the plugin "${mode === 's3' ? 's3-domains' : mode}".`

const hasHost =
  (host: string) =>
  ({ value }: StoredDocument<StoredDistribution>): boolean =>
    value.aliases.some(alias => alias === host || covers(alias, host))

function durationOf(text: string): number {
  try {
    return parseDuration(text)
  } catch {
    throw adminErrors.invalid_argument(
      `/keepPreviousFor: ${JSON.stringify(text)} is no duration; one is 90s, 5m or 24h.`,
    )
  }
}

declare module 'svc/kernel' {
  interface Services {
    /** Used by the operations of this plugin only. */
    distributionsAdmin: DistributionsAdmin
  }
}
