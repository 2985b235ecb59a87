/** Changes of many distributions for one transaction: each is checked against all as they will be then. */
import { isCatalogError, type MaybePromise } from 'svc/kernel'
import { adminErrors } from 'svc/plugins/admin/api'
import type { WishOptions } from 'svc/plugins/certificates/api'
import { canonicalJson } from 'svc/plugins/sealing/api'
import type { DistributionsService } from './api.ts'
import type { AlsoChange, DistributionCertificates } from './certificates.ts'
import { type Checks, neighboursOf, type Stored } from './checking.ts'
import type { Distribution, DistributionInput } from './document.ts'
import type { Registry } from './registry.ts'
import { distributionOf, requireRoom } from './saving.ts'
import { keyGroupsOf } from './signed-access.ts'
import type { Ready } from './visit.ts'

export type StageDistributions = DistributionsService['stage']

export interface StagingOptions {
  readonly registry: Registry<Ready>
  readonly checks: Checks
  readonly certificates: Pick<DistributionCertificates, 'prepareRemoval'>
}

interface Step {
  readonly before: Stored | undefined
  readonly built: Distribution | undefined
  also: AlsoChange
}

export function createStaging({ registry, checks, certificates }: StagingOptions): StageDistributions {
  return async ({ wanted, ...rights }) => {
    const snapshot = await registry.snapshot()
    const stored = new Map(snapshot.all.map(document => [document.id, document]))
    const after = new Map(snapshot.all.map(document => [document.id, distributionOf(document)]))
    const steps = new Map<string, Step>()
    const errors = new Map<string, Error>()

    async function attempt(id: string, work: () => MaybePromise<void>): Promise<void> {
      try {
        await work()
      } catch (error) {
        if (!isCatalogError(error) || error.status >= 500) throw error
        errors.set(id, error)
      }
    }

    async function build(id: string, input: DistributionInput | null): Promise<void> {
      const before = stored.get(id)
      const buckets = new Set([before?.value.origin.bucket, input?.origin.bucket])
      for (const bucket of buckets) {
        if (bucket !== undefined && !(await rights.mayManage(bucket))) throw adminErrors.access_denied()
      }
      const built = input === null ? undefined : checks.build(input, before)
      if (built === undefined) after.delete(id)
      else after.set(id, built)
      if (isSame(before, built)) return
      if (before === undefined) requireRoom(after.size)
      steps.set(id, { before, built, also: () => {} })
    }

    for (const [id, input] of wanted) await attempt(id, () => build(id, input))
    const warnings = new Map<string, readonly string[]>()
    const neighbours = neighboursOf([...after.values()])
    const gone = snapshot.all.flatMap(({ value }) => value.aliases).filter(alias => !neighbours.owners.has(alias))

    /** An import is not refused for what its operator is warned of. */
    async function warnServed<T>(id: string, prepare: (options: WishOptions) => Promise<T>): Promise<T> {
      try {
        return await prepare({ gone })
      } catch (error) {
        if (!isCatalogError(error) || error.code !== 'certificate_served') throw error
        warnings.set(id, [error.message])
        return prepare({ force: true })
      }
    }

    for (const [id, step] of steps) {
      const { before, built } = step
      await attempt(id, async () => {
        if (built === undefined) {
          step.also = await warnServed(id, options => certificates.prepareRemoval(id, before!.value, options))
          return
        }
        const asked = { distribution: built, before, neighbours, ...rights }
        const checked = await warnServed(id, options => checks.check({ ...asked, ...options }))
        step.also = checked.also
        if (checked.warnings.length > 0) warnings.set(id, [...(warnings.get(id) ?? []), ...checked.warnings])
      })
    }
    return {
      before: new Map(
        [...stored].filter(([id]) => wanted.has(id)).map(([id, document]) => [id, distributionOf(document)]),
      ),
      after,
      changed: new Set(steps.keys()),
      errors,
      warnings,
      keyGroupUsers: group => [...after.values()].filter(one => keyGroupsOf(one).has(group)).map(({ id }) => id),
      apply(tx) {
        snapshot.apply(
          tx,
          [...steps].map(([id, { before, built, also }]) => ({
            id,
            value: storedOf(built),
            ...(before === undefined ? { ifNoneMatch: '*' as const } : { ifMatch: before.etag }),
            also,
          })),
        )
      },
    }
  }
}

function storedOf(distribution: Distribution | undefined) {
  if (distribution === undefined) return undefined
  const { id: _id, ...value } = distribution
  return value
}

function isSame(before: Stored | undefined, built: Distribution | undefined): boolean {
  if (before === undefined || built === undefined) return before === built
  return canonicalJson(before.value) === canonicalJson(storedOf(built))
}
