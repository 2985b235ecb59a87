/** Stores a distribution: all checks come before the commit. */
import { adminErrors } from 'svc/plugins/admin/api'
import type { ForceOptions } from 'svc/plugins/certificates/api'
import type { SaverRights } from './api.ts'
import { type Checks, invalid, neighboursOf, type Stored } from './checking.ts'
import type { Distribution, DistributionInput } from './document.ts'
import { showSecret } from './origin-secret.ts'
import { distributionsMax, type Registry } from './registry.ts'
import type { Ready } from './visit.ts'

export interface SaveRequest extends SaverRights, ForceOptions {
  readonly input: DistributionInput
  readonly ifMatch?: string
  readonly ifNoneMatch?: '*'
  /** Checks all and stores nothing. */
  readonly dryRun?: boolean
}

export interface Saved {
  readonly distribution: Distribution
  readonly document: Stored | undefined
  readonly isNew: boolean
  readonly warnings: readonly string[]
}

export interface SavingOptions {
  readonly registry: Registry<Ready>
  readonly checks: Checks
  /** Warnings for a valid distribution: reasons why it does not answer as one would expect. */
  readonly warningsOf: (distribution: Distribution) => Promise<readonly string[]>
}

export type SaveDistribution = (request: SaveRequest) => Promise<Saved>

/** Rejects with `distributionErrors`, `access_denied`, `bucket_not_found`, `key_group_not_found`, `already_exists`, `precondition_failed`, `not_implemented`. */
export function createSaving({ registry, checks, warningsOf }: SavingOptions): SaveDistribution {
  return async ({ input, ifMatch, ifNoneMatch, dryRun, force, ...rights }) => {
    let distribution: Distribution | undefined
    let isNew = false
    let ofChange: readonly string[] = []
    const document = await registry.change(async all => {
      const before = all.find(({ id }) => id === input.id)
      isNew = before === undefined
      if (before !== undefined && ifNoneMatch !== undefined) {
        const message = `There is a distribution "${input.id}" already.`
        throw adminErrors.already_exists(message, { cause: [{ element: '/id', message }] })
      }
      if (ifMatch !== undefined && (before === undefined || (ifMatch !== '*' && before.etag !== ifMatch))) {
        throw adminErrors.precondition_failed()
      }
      const buckets = [input.origin.bucket, ...(before === undefined ? [] : [before.value.origin.bucket])]
      for (const bucket of buckets) if (!(await rights.mayManage(bucket))) throw adminErrors.access_denied()
      const built = checks.build(input, before)
      requireRoom(isNew ? all.length + 1 : all.length)
      const neighbours = neighboursOf(all.map(distributionOf))
      const gone = before?.value.aliases.filter(alias => !built.aliases.includes(alias))
      const asked = { distribution: built, before, neighbours, gone, force, ...rights }
      const { also, warnings } = await checks.check(asked)
      distribution = built
      ofChange = warnings
      if (dryRun) return undefined
      const { id, ...value } = built
      const condition = before === undefined ? { ifNoneMatch: '*' as const } : { ifMatch: before.etag }
      return { id, value, also, ...condition }
    })
    return {
      distribution: distribution!,
      document,
      isNew,
      warnings: [...ofChange, ...(await warningsOf(distribution!))],
    }
  }
}

export const distributionOf = ({ id, value }: Stored): Distribution => ({ ...value, id })

export function requireRoom(count: number): void {
  if (count > distributionsMax)
    throw invalid([{ element: '', message: `would be more than ${distributionsMax} distributions` }])
}

/** The document of a distribution as clients read it. */
export function viewOf(distribution: Distribution, document: Stored | undefined, nowMs: number) {
  const { createdMs, restrictions, ...fields } = distribution
  const { originSecretHeader, ...others } = restrictions
  return {
    ...fields,
    restrictions:
      originSecretHeader === undefined
        ? others
        : { ...others, originSecretHeader: showSecret(originSecretHeader, nowMs) },
    createdAt: new Date(createdMs).toISOString(),
    updatedAt: new Date(document?.modifiedMs ?? nowMs).toISOString(),
    etag: document?.etag ?? '',
  }
}
