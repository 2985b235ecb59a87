/** Whether a distribution may be saved, beside the others that there are or will be. All checks come before the commit. */
import { isCatalogError, type Ports } from 'svc/kernel'
import { adminErrors, passAll, sentenceEnd } from 'svc/plugins/admin/api'
import type { WishOptions } from 'svc/plugins/certificates/api'
import type { KeyGroupsService } from 'svc/plugins/key-groups/api'
import type { ObjectsService } from 'svc/plugins/objects/api'
import type { StoredDocument, TransactionBuilder } from 'svc/plugins/store/api'
import type { DistributionMode, DistributionProblem, MayManage, SaverRights } from './api.ts'
import type { AlsoChange, DistributionCertificates } from './certificates.ts'
import {
  type Distribution,
  type DistributionInput,
  type PathPattern,
  reservedIds,
  type StoredDistribution,
} from './document.ts'
import { distributionErrors } from './errors.ts'
import { covers } from './hosts.ts'
import { inKeyForm } from './key-form.ts'
import { logBucketOf, logPrefixOf } from './log-target.ts'
import type { ServerNames } from './names.ts'
import { storeSecret } from './origin-secret.ts'
import { newPatternProblem } from './patterns.ts'
import { aliasProblem, logProblem, otherOwner, ownProblems, withNormalAliases } from './problems.ts'
import { hasSignedAccess, keyGroupPlaces, keyGroupsOf, openingKeyGroups } from './signed-access.ts'

export type Stored = StoredDocument<StoredDistribution>

const aliasesMax = 10_000

export interface ChecksOptions {
  readonly objects: Pick<ObjectsService, 'getBucket'>
  readonly certificates: DistributionCertificates
  readonly modes: () => ReadonlyMap<string, DistributionMode>
  readonly names: ServerNames
  readonly ports: Ports
  readonly normalizeKey: (key: string) => string
  /** Undefined: there is no signed access. */
  readonly keyGroups: Pick<KeyGroupsService, 'exists' | 'get' | 'requireIn'> | undefined
  /** Access logs can be written into buckets. */
  readonly hasBucketLogs: boolean
}

/** The others, made ready for questions about many. */
export interface Neighbours {
  readonly all: readonly Distribution[]
  readonly owners: ReadonlyMap<string, readonly Distribution[]>
  readonly wildcards: readonly string[]
}

export function neighboursOf(all: readonly Distribution[]): Neighbours {
  const owners = new Map<string, Distribution[]>()
  for (const one of all) for (const alias of one.aliases) owners.set(alias, [...(owners.get(alias) ?? []), one])
  return { all, owners, wildcards: [...owners.keys()].filter(alias => alias.startsWith('*.')) }
}

export interface CheckRequest extends SaverRights, WishOptions {
  readonly distribution: Distribution
  readonly before: Stored | undefined
  /** The other distributions; they may include the one that is checked. */
  readonly neighbours: Neighbours
  /** Whether the transaction itself makes or removes a key group; undefined: it does neither. */
  readonly keyGroupChange?: (id: string) => boolean | undefined
}

export interface Checked {
  /** Changes for the same transaction. */
  readonly also: AlsoChange
  /** What the change itself brings about: sentences. */
  readonly warnings: readonly string[]
}

export interface Checks {
  /** Builds the distribution without checking it against others. Throws `invalid_distribution`, `not_implemented`. */
  build(input: DistributionInput, before: Stored | undefined): Distribution
  /** Checks the distribution. Throws the errors of `SaveDistribution`. */
  check(request: CheckRequest): Promise<Checked>
}

export function createChecks(options: ChecksOptions): Checks {
  const { objects, certificates, modes, names, ports, normalizeKey, keyGroups, hasBucketLogs } = options

  function build(input: DistributionInput, before: Stored | undefined): Distribution {
    refuseUnbuilt(input, keyGroups !== undefined)
    const { id, createdAt: _created, updatedAt: _updated, etag: _etag, warnings: _warnings, ...given } = input
    const { blocked: _blocked, logEnded: _ended, served: _served, shadowed: _shadowed, ...fields } = given
    const problems: DistributionProblem[] = []
    const { originSecretHeader, ...restrictions } = input.restrictions
    let secret = before?.value.restrictions.originSecretHeader
    try {
      secret = originSecretHeader && storeSecret(originSecretHeader, secret, ports.random, ports.clock.now())
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
      problems.push({ element: '/restrictions/originSecretHeader', message: error.message })
    }
    const distribution: Distribution = {
      ...inKeyForm(fields, normalizeKey),
      id,
      createdMs: before?.value.createdMs ?? ports.clock.now(),
      restrictions: secret === undefined ? restrictions : { ...restrictions, originSecretHeader: secret },
    }
    if (reservedIds.has(id))
      problems.push({ element: '/id', message: 'is a word that means something else to the API' })
    const server = modes().get(distribution.mode)
    problems.push(...ownProblems(distribution, server, certificates), ...encodingProblems(distribution, before?.value))
    if (problems.length > 0) throw invalid(problems)
    if (server === undefined) {
      throw adminErrors.not_implemented(`No loaded plugin serves the mode ${distribution.mode}.`)
    }
    return withNormalAliases(distribution)
  }

  async function requireBucket(name: string, element: string): Promise<void> {
    if (await hasBucket(objects, name)) return
    const message = `There is no bucket ${name}: make it first (\`svcctl mb ALIAS/${name}\`).`
    throw adminErrors.bucket_not_found(message, { cause: [{ element, message }] })
  }

  /** The log of a distribution, and the logs of others that its pages could show. */
  async function checkLog(
    built: Distribution,
    others: readonly Distribution[],
    mayWrite: SaverRights['mayWrite'],
  ): Promise<void> {
    const target = logBucketOf(built)
    if (target !== undefined) {
      if (!hasBucketLogs) {
        throw adminErrors.not_implemented('Access logs in buckets need the plugin queue, which is not loaded.')
      }
      await requireBucket(target.bucket, '/logging/target')
      if (!(await mayWrite(target.bucket, logPrefixOf(built.id, target)))) {
        throw adminErrors.access_denied(`To write the log into ${target.bucket} you need s3:PutObject there.`)
      }
    }
    const problem = logProblem(built, others)
    if (problem !== undefined) throw invalid([problem])
  }

  /**
   * Whoever names a group can have the server sign with its keys, and has a say in every change of it: so nobody names one that opens the
   * bucket of somebody else, nor one whose keys somebody else has chosen.
   */
  async function requireOwn(
    element: string,
    id: string,
    bucket: string,
    { mayEdit, mayOpen, othersKeys }: SaverRights['keyGroupEditor'],
  ): Promise<{ readonly etag: string; readonly warnings: readonly string[] }> {
    const group = await keyGroups!.get(id)
    const { etag, usedBy } = group
    if (!(await mayOpen(bucket, group))) {
      const reason = (await mayEdit(group))
        ? 'has keys that somebody else has added'
        : usedBy.length > 0
          ? 'opens a bucket of somebody else'
          : 'was made by somebody else'
      const message = `The key group ${id} ${reason}: make one of your own.`
      throw adminErrors.access_denied(message, { cause: [{ element, message }] })
    }
    const others = [...new Set(othersKeys(bucket, group).map(({ addedBy = 'the server' }) => addedBy))]
    const who = others.slice(0, 5).join(', ')
    const warning = `The key group ${id} has keys that others have added (${who}): with them they get into ${bucket}.`
    return { etag, warnings: others.length === 0 ? [] : [warning] }
  }

  async function check(request: CheckRequest): Promise<Checked> {
    const {
      distribution,
      before,
      neighbours,
      mayManage,
      mayWrite,
      keyGroupEditor,
      keyGroupChange = () => undefined,
      gone,
      force,
    } = request
    const { id } = distribution
    const places = keyGroups === undefined ? new Map<string, string>() : keyGroupPlaces(distribution)
    const groups = [...new Set(places.values())]
    const others = neighbours.all.filter(other => other.id !== id)
    const { bucket } = distribution.origin
    const opensAlready: ReadonlySet<string> =
      before?.value.origin.bucket === bucket ? keyGroupsOf(before.value) : new Set()
    /** Of groups that were looked at: what they are decides. */
    const etags = new Map<string, string>()
    const warnings: string[] = []
    await passAll([
      // Before the bucket is looked for: whoever makes a bucket for a name is told first that the name is taken.
      () => checkAliases(distribution, neighbours, names, mayManage),
      () => requireBucket(distribution.origin.bucket, '/origin/bucket'),
      ...[...places].map(([element, group]) => async () => {
        if (!(keyGroupChange(group) ?? (await keyGroups!.exists(group)))) throw noKeyGroup(element, group)
        if (opensAlready.has(group) || !(await keyGroups!.exists(group))) return
        const own = await requireOwn(element, group, bucket, keyGroupEditor)
        etags.set(group, own.etag)
        warnings.push(...own.warnings)
      }),
      () => checkLog(distribution, others, mayWrite),
    ])
    warnings.push(...signaturesThatMove(distribution, before?.value))
    const ofCertificates = await certificates.prepare(distribution, before?.value, { gone, force })
    return {
      also(tx: TransactionBuilder) {
        ofCertificates(tx)
        for (const group of groups)
          if (keyGroupChange(group) === undefined) keyGroups!.requireIn(tx, group, etags.get(group))
      },
      warnings: [...new Set(warnings)],
    }
  }

  return { build, check }
}

async function hasBucket(objects: Pick<ObjectsService, 'getBucket'>, name: string): Promise<boolean> {
  try {
    await objects.getBucket(name)
    return true
  } catch (error) {
    if (!isCatalogError(error) || error.code !== 'NoSuchBucket') throw error
    return false
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

function noKeyGroup(element: string, id: string): Error {
  const message = `There is no key group ${JSON.stringify(id)}.`
  return distributionErrors.key_group_not_found(message, { cause: [{ element, message }] })
}

/** Patterns that stand there already stay, with a warning: nothing else could be changed otherwise. */
function encodingProblems({ behaviors }: Distribution, before: StoredDistribution | undefined): DistributionProblem[] {
  const kept = new Set(before?.behaviors.map(({ pathPattern }) => textOf(pathPattern)))
  return behaviors.flatMap(({ pathPattern }, index) => {
    const problem = kept.has(textOf(pathPattern)) ? undefined : newPatternProblem(pathPattern)
    return problem === undefined ? [] : [{ element: `/behaviors/${index}/pathPattern`, message: problem }]
  })
}

const textOf = ({ type, pattern }: PathPattern): string => `${type} ${pattern}`

/** Links and cookies are signed for a domain and a path, and say nothing about a bucket. */
function signaturesThatMove(distribution: Distribution, before: StoredDistribution | undefined): string[] {
  const { bucket, pathPrefix } = distribution.origin
  if (before === undefined || (before.origin.bucket === bucket && before.origin.pathPrefix === pathPrefix)) return []
  const opened = new Set(openingKeyGroups(before))
  const groups = openingKeyGroups(distribution).filter(group => opened.has(group))
  if (groups.length === 0) return []
  return [
    `Links and cookies that were signed before open ${bucket}/${pathPrefix} as well, until they expire: to end them, remove the keys of ${groups.join(', ')}, or name another key group.`,
  ]
}

/** Throws `alias_conflict`, and `access_denied` below the wildcard of another user. */
async function checkAliases(
  distribution: Distribution,
  { owners, wildcards }: Neighbours,
  names: ServerNames,
  mayManage: MayManage,
): Promise<void> {
  const { id, aliases } = distribution
  if (aliases.reduce((sum, alias) => sum + (owners.has(alias) ? 0 : 1), owners.size) > aliasesMax) {
    throw invalid([{ element: '/aliases', message: `would be more than ${aliasesMax} of all distributions` }])
  }
  for (const [index, alias] of aliases.entries()) {
    const problem = aliasProblem(alias, distribution, owners, names)
    if (problem !== undefined) {
      const owner = otherOwner(alias, id, owners)
      const isHidden = owner !== undefined && !(await mayManage(owner.origin.bucket))
      throw conflicting(index, `${alias} ${isHidden ? 'is an alias of a distribution of somebody else' : problem}.`)
    }
    const name = alias.startsWith('*.') ? alias.slice(2) : alias
    for (const wildcard of wildcards) {
      if (!covers(wildcard, name)) continue
      for (const other of owners.get(wildcard) ?? []) {
        if (other.id === id || (await mayManage(other.origin.bucket))) continue
        const message = `${alias} lies below ${wildcard}, a domain of a distribution of somebody else.`
        throw adminErrors.access_denied(message, { cause: [{ element: `/aliases/${index}`, message }] })
      }
    }
  }
}

const conflicting = (index: number, message: string): Error =>
  distributionErrors.alias_conflict(message, { cause: [{ element: `/aliases/${index}`, message }] })

export function invalid(problems: readonly DistributionProblem[]): Error {
  const [{ element, message }] = problems
  return distributionErrors.invalid_distribution(`${element === '' ? 'This' : element} ${sentenceEnd(message)}`, {
    cause: problems,
  })
}
