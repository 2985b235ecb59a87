/** Distributions in the archive of the cluster: as they are stored, with their origin secrets hashed. */
import { type Clock, isCatalogError } from 'svc/kernel'
import type { AfterImport, ArchivePart, PartProblem } from 'svc/plugins/cluster-archive/api'
import type { NormalizeKey } from 'svc/plugins/policy/api'
import { type Static, Type } from 'typebox'
import type { DistributionMode } from './api.ts'
import { certificateOf, type DistributionCertificates } from './certificates.ts'
import { neighboursOf } from './checking.ts'
import { type Distribution, distributionId, reservedIds, StoredDistribution } from './document.ts'
import { inKeyForm } from './key-form.ts'
import { logBucketOf } from './log-target.ts'
import type { ServerNames } from './names.ts'
import { aliasProblem, logProblem, ownProblems } from './problems.ts'
import { distributionsMax, type Registry } from './registry.ts'
import { keyGroupsOf } from './signed-access.ts'
import type { Ready } from './visit.ts'

const Archived = Type.Omit(StoredDistribution, ['createdMs'], { additionalProperties: false })
type Archived = Static<typeof Archived>

/** The names of the parts that distributions depend on. */
const partOf = { distributions: 'distribution', keyGroups: 'key-group', dnsProviders: 'dns-provider' } as const
export const distributionPart = partOf.distributions

export interface ArchivePartOptions {
  readonly registry: Registry<Ready>
  readonly certificates: DistributionCertificates
  readonly modes: () => ReadonlyMap<string, DistributionMode>
  readonly names: ServerNames
  readonly clock: Clock
  /** Access logs can be written into buckets. */
  readonly hasBucketLogs: boolean
  readonly normalizeKey: NormalizeKey
}

export function createArchivePart(options: ArchivePartOptions): ArchivePart<Archived> {
  const { registry, certificates, clock, normalizeKey } = options

  return {
    schema: Archived,
    after: [partOf.keyGroups, partOf.dnsProviders],

    async read() {
      const all = await registry.all()
      return new Map(all.map(({ id, value: { createdMs: _, ...value } }) => [id, value]))
    },

    async problems(changed, after) {
      const all = new Map([...(after.documents(partOf.distributions) as Map<string, Archived>)])
      const problems: PartProblem[] = []
      if (all.size > distributionsMax)
        problems.push({ element: '', message: `would be more than ${distributionsMax} distributions` })
      const neighbours = neighboursOf(
        [...all].map(([id, value]) => ({ ...inKeyForm(value, normalizeKey), id, createdMs: 0 })),
      )
      for (const [id, value] of changed) {
        const distribution = { ...inKeyForm(value, normalizeKey), id, createdMs: clock.now() }
        const found = documentProblemsOf(distribution, options)
        if (found.length === 0) found.push(...(await problemsOfNames(distribution, after, options)))
        for (const [index, alias] of value.aliases.entries()) {
          const message = aliasProblem(alias, distribution, neighbours.owners, options.names)
          if (message !== undefined) found.push({ element: `/aliases/${index}`, message })
        }
        const others = neighbours.all.filter(other => other.id !== id)
        const exposed = logProblem(distribution, others)
        if (exposed !== undefined) found.push(exposed)
        problems.push(...found.map(({ element, message }) => ({ element: `${id}${element}`, message })))
      }
      return problems
    },

    async apply(changed, mayGoOn) {
      // Those whose certificates are ordered come first: others may name these certificates.
      const ordered = [...changed].sort(([, one], [, other]) => rank(one) - rank(other))
      for (const [id, value] of ordered) {
        await mayGoOn()
        await registry.change(async all => {
          const before = all.find(other => other.id === id)
          const stored = { ...inKeyForm(value, normalizeKey), createdMs: before?.value.createdMs ?? clock.now() }
          const also = await certificates.prepare({ ...stored, id }, before?.value, { force: true })
          const condition = before === undefined ? { ifNoneMatch: '*' as const } : { ifMatch: before.etag }
          return { id, value: stored, also, ...condition }
        })
      }
    },

    async remove(ids, mayGoOn) {
      for (const id of ids) {
        await mayGoOn()
        await registry.change(async all => {
          const before = all.find(other => other.id === id)
          if (before === undefined) return undefined
          const also = await certificates.prepareRemoval(id, before.value, { force: true })
          return { id, value: undefined, ifMatch: before.etag, also }
        })
      }
    },
  }
}

const rank = ({ tls: { certificate } }: Archived): number => (certificate === 'auto' ? 0 : 1)

/** Problems of the document alone. */
function documentProblemsOf(distribution: Distribution, { modes, certificates }: ArchivePartOptions): PartProblem[] {
  const { id, mode } = distribution
  if (!new RegExp(distributionId).test(id) || reservedIds.has(id))
    return [{ element: '', message: 'is no id that a distribution can have' }]
  const server = modes().get(mode)
  const problems = [...ownProblems(distribution, server, certificates)]
  if (server === undefined) problems.push({ element: '/mode', message: `is ${mode}, which no loaded plugin serves` })
  return problems
}

/** Problems of what it names: buckets, key groups, certificates. */
async function problemsOfNames(
  distribution: Distribution,
  after: AfterImport,
  { certificates, hasBucketLogs, registry }: ArchivePartOptions,
): Promise<PartProblem[]> {
  const { id, origin, tls } = distribution
  const problems: PartProblem[] = []
  const demand = (element: string, message: string, isThere: boolean) => {
    if (!isThere) problems.push({ element, message })
  }
  const noBucket = (name: string) => `names the bucket ${name}, which neither the archive nor this deployment has`
  demand('/origin/bucket', noBucket(origin.bucket), await after.hasBucket(origin.bucket))
  const log = logBucketOf(distribution)
  if (log !== undefined) {
    demand('/logging/target', 'needs the plugin queue, which is not loaded', hasBucketLogs)
    demand('/logging/target', noBucket(log.bucket), await after.hasBucket(log.bucket))
  }
  for (const group of keyGroupsOf(distribution)) {
    const isThere = after.documents(partOf.keyGroups)?.has(group) === true
    demand('/behaviors', `names the key group ${group}, which is not there`, isThere)
  }
  const hasProvider = (name: string) => after.documents(partOf.dnsProviders)?.has(name) === true
  if (tls.dnsProvider !== undefined)
    demand(
      '/tls/dnsProvider',
      `names the provider ${tls.dnsProvider}, which is not there`,
      hasProvider(tls.dnsProvider),
    )
  const certificate = certificateOf(distribution)
  const all = after.documents(partOf.distributions) as ReadonlyMap<string, Archived>
  const isOrdered = certificate !== id && all.get(certificate ?? '')?.tls.certificate === 'auto'
  if (problems.length > 0 || isOrdered) return problems
  try {
    await certificates.prepare(distribution, (await registry.get(id))?.value, { force: true })
  } catch (error) {
    if (!isCatalogError(error) || error.status >= 500) throw error
    // The provider comes with the archive.
    if (error.code === 'dns_provider_not_found') return problems
    const advice =
      error.code === 'certificate_not_found' ? ' Archives have no private keys: upload it here under this id first' : ''
    problems.push({ element: '/tls/certificate', message: `cannot be used: ${error.message}${advice}` })
  }
  return problems
}
