/** Validates and stores a distribution: all checks come before the commit. */
import type { MaybePromise, Ports } from 'svc/kernel'
import { adminErrors, sentenceEnd } from 'svc/plugins/admin/api'
import type { KeyGroupsService } from 'svc/plugins/key-groups/api'
import type { ObjectsService } from 'svc/plugins/objects/api'
import type { StoredDocument, TransactionBuilder } from 'svc/plugins/store/api'
import type { DistributionMode, DistributionProblem } from './api.ts'
import type { DistributionCertificates } from './certificates.ts'
import { type Distribution, type DistributionInput, reservedIds, type StoredDistribution } from './document.ts'
import { documentProblems } from './document-problems.ts'
import { distributionErrors } from './errors.ts'
import { covers, normalizeAlias } from './hosts.ts'
import { logBucketOf, logExposure, logPrefixOf } from './log-target.ts'
import { reservedBy, type ServerNames } from './names.ts'
import { showSecret, storeSecret } from './origin-secret.ts'
import { distributionsMax, type Registry } from './registry.ts'
import { hasSignedAccess, keyGroupsOf } from './signed-access.ts'
import type { Ready } from './visit.ts'

type Stored = StoredDocument<StoredDistribution>

const aliasesMax = 10_000

/** Whether the caller may manage distributions of this bucket; a promise where policies have to be read. */
export type MayManage = (bucket: string) => MaybePromise<boolean>

export interface SaveRequest {
  readonly input: DistributionInput
  readonly mayManage: MayManage
  /** Whether the caller may write objects below this prefix. */
  readonly mayWrite: (bucket: string, prefix: string) => MaybePromise<boolean>
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
  readonly objects: Pick<ObjectsService, 'getBucket'>
  readonly certificates: DistributionCertificates
  readonly modes: () => ReadonlyMap<string, DistributionMode>
  readonly names: ServerNames
  readonly ports: Ports
  readonly normalizeKey: (key: string) => string
  /** Undefined: there is no signed access. */
  readonly keyGroups: Pick<KeyGroupsService, 'exists' | 'requireIn'> | undefined
  /** Of a distribution that is right: why it answers not as it seems to. */
  readonly warningsOf: (distribution: Distribution) => Promise<readonly string[]>
  /** Access logs can be written into buckets. */
  readonly hasBucketLogs: boolean
}

export type SaveDistribution = (request: SaveRequest) => Promise<Saved>

/** Rejects with `distributionErrors`, `access_denied`, `bucket_not_found`, `key_group_not_found`, `already_exists`, `precondition_failed`, `not_implemented`. */
export function createSaving(options: SavingOptions): SaveDistribution {
  const { registry, objects, certificates, modes, names, ports, normalizeKey, keyGroups, hasBucketLogs, warningsOf } =
    options

  function build(input: DistributionInput, before: Stored | undefined): Distribution {
    const { id, createdAt: _created, updatedAt: _updated, etag: _etag, warnings: _warnings, ...fields } = input
    const problems: DistributionProblem[] = []
    const { originSecretHeader, ...restrictions } = input.restrictions
    let secret = before?.value.restrictions.originSecretHeader
    try {
      secret = originSecretHeader && storeSecret(originSecretHeader, secret, ports.random)
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
      problems.push({ element: '/restrictions/originSecretHeader', message: error.message })
    }
    const origin = { ...input.origin, pathPrefix: normalizeKey(input.origin.pathPrefix) }
    const distribution: Distribution = {
      ...fields,
      id,
      origin,
      createdMs: before?.value.createdMs ?? ports.clock.now(),
      restrictions: secret === undefined ? restrictions : { ...restrictions, originSecretHeader: secret },
    }
    if (reservedIds.has(id)) problems.push({ element: '/id', message: 'is a name that the API has for itself' })
    problems.push(...documentProblems(distribution))
    if (problems.length === 0) problems.push(...modeOf(distribution).problems(distribution))
    if (problems.length > 0) throw invalid(problems)
    const normalized = { ...distribution, aliases: [...new Set(distribution.aliases.map(normalizeAlias))] }
    problems.push(...certificates.problems(normalized))
    if (problems.length > 0) throw invalid(problems)
    return normalized
  }

  function modeOf({ mode }: Distribution): DistributionMode {
    const found = modes().get(mode)
    if (found === undefined) throw adminErrors.not_implemented(`No loaded plugin serves the mode ${mode}.`)
    return found
  }

  /** The log of a distribution, and the logs of others that its pages could show. */
  async function checkLog(
    built: Distribution,
    others: readonly Stored[],
    mayWrite: SaveRequest['mayWrite'],
  ): Promise<void> {
    const target = logBucketOf(built)
    if (target !== undefined) {
      if (!hasBucketLogs) {
        throw adminErrors.not_implemented('Access logs in buckets need the plugin queue, which is not loaded.')
      }
      await objects.getBucket(target.bucket)
      if (!(await mayWrite(target.bucket, logPrefixOf(built.id, target)))) {
        throw adminErrors.access_denied(`To write the log into ${target.bucket} you need s3:PutObject there.`)
      }
    }
    const exposed = logExposure(
      built,
      others.map(({ id, value }) => ({ ...value, id })),
    )
    if (exposed === undefined) return
    const isOwn = exposed.writer === built.id
    const through = exposed.reader === built.id ? 'its own pages' : `the pages of ${exposed.reader}`
    const message = isOwn
      ? `lies where everybody could read it, through ${through}: choose another bucket or prefix`
      : `has the access log of the distribution ${exposed.writer}, which everybody could read then`
    throw invalid([{ element: isOwn ? '/logging/target' : '/origin', message }])
  }

  return async ({ input, mayManage, mayWrite, ifMatch, ifNoneMatch, dryRun }) => {
    refuseUnbuilt(input, keyGroups !== undefined)
    let distribution: Distribution | undefined
    let isNew = false
    const document = await registry.change(async all => {
      const before = all.find(({ id }) => id === input.id)
      isNew = before === undefined
      if (before !== undefined && ifNoneMatch !== undefined) throw adminErrors.already_exists()
      if (ifMatch !== undefined && (before === undefined || (ifMatch !== '*' && before.etag !== ifMatch))) {
        throw adminErrors.precondition_failed()
      }
      const buckets = [input.origin.bucket, ...(before === undefined ? [] : [before.value.origin.bucket])]
      for (const bucket of buckets) if (!(await mayManage(bucket))) throw adminErrors.access_denied()
      const built = build(input, before)
      const others = all.filter(({ id }) => id !== built.id)
      // Before the bucket is looked for: whoever makes a bucket for a name is told first that the name is taken.
      await checkAliases(built, others, names, mayManage)
      await objects.getBucket(built.origin.bucket)
      const groups = keyGroups === undefined ? [] : [...keyGroupsOf(built)]
      for (const group of groups) if (!(await keyGroups!.exists(group))) throw noKeyGroup(group)
      if (isNew && all.length >= distributionsMax)
        throw invalid([{ element: '', message: `would be more than ${distributionsMax} distributions` }])
      await checkLog(built, others, mayWrite)
      const ofCertificates = await certificates.prepare(built, before?.value)
      const also = (tx: TransactionBuilder) => {
        ofCertificates(tx)
        for (const group of groups) keyGroups!.requireIn(tx, group)
      }
      distribution = built
      if (dryRun) return undefined
      const { id, ...value } = built
      const condition = before === undefined ? { ifNoneMatch: '*' as const } : { ifMatch: before.etag }
      return { id, value, also, ...condition }
    })
    return { distribution: distribution!, document, isNew, warnings: await warningsOf(distribution!) }
  }
}

/** Settings whose plugin is missing are refused, not ignored. */
function refuseUnbuilt(input: DistributionInput, hasKeyGroups: boolean): void {
  if (hasSignedAccess(input) && !hasKeyGroups) {
    throw adminErrors.not_implemented(
      'Signed access needs the plugin key-groups, which is not loaded: access can be public, authenticated or deny.',
    )
  }
}

const noKeyGroup = (id: string): Error =>
  distributionErrors.key_group_not_found(`There is no key group ${JSON.stringify(id)}.`)

/** Throws `alias_conflict`, and `access_denied` below the wildcard of another user. */
async function checkAliases(
  { aliases, origin }: Distribution,
  others: readonly Stored[],
  names: ServerNames,
  mayManage: MayManage,
): Promise<void> {
  const taken = new Map<string, Stored>()
  for (const other of others) for (const alias of other.value.aliases) taken.set(alias, other)
  if (taken.size + aliases.length > aliasesMax) {
    throw invalid([{ element: '/aliases', message: `would be more than ${aliasesMax} of all distributions` }])
  }
  for (const alias of aliases) {
    const reserved = reservedBy(alias, origin.bucket, names)
    if (reserved !== undefined) throw distributionErrors.alias_conflict(`${alias} ${reserved}.`)
    const owner = taken.get(alias)
    if (owner !== undefined) {
      throw distributionErrors.alias_conflict(`${alias} is an alias of the distribution ${owner.id}.`)
    }
    for (const [wildcard, { value }] of taken) {
      const name = alias.startsWith('*.') ? alias.slice(2) : alias
      if (covers(wildcard, name) && !(await mayManage(value.origin.bucket))) throw adminErrors.access_denied()
    }
  }
}

function invalid(problems: readonly DistributionProblem[]): Error {
  const [{ element, message }] = problems
  return distributionErrors.invalid_distribution(`${element === '' ? 'This' : element} ${sentenceEnd(message)}`, {
    cause: problems,
  })
}

/** As clients read it. */
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
