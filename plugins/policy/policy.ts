/** The service: collects the policies of a request and evaluates them. */
import type { MaybePromise } from 'svc/kernel'
import type {
  AccessRequest,
  BucketPolicies,
  BucketRules,
  IdentityPolicies,
  PermissionsRequest,
  PolicyService,
  PolicySource,
  PublicStatement,
  RequestPolicies,
  SimulatedRequest,
} from './api.ts'
import { builtInPolicies } from './built-in-policies.ts'
import { type Catalogue, createCatalogue, type PolicyAction } from './catalogue.ts'
import { asItIs, type NormalizeKey } from './config.ts'
import { type CompiledPolicy, compileDocument } from './document.ts'
import { decide, Evaluation } from './evaluation.ts'
import { PolicySet } from './policy-set.ts'
import { simulate } from './simulation.ts'
import type { Statement } from './statement.ts'

export interface Policy extends PolicyService {
  /** Takes over the contributions of plugins. Before that there is no source, so only root may do anything. */
  open(sources: readonly PolicySource[], catalogue: Catalogue): void
}

export function createPolicy(normalizeKey: NormalizeKey = asItIs): Policy {
  let catalogue = createCatalogue()
  let identitySources: readonly NonNullable<PolicySource['identityPolicies']>[] = []
  let bucketSources: readonly NonNullable<PolicySource['bucketPolicies']>[] = []
  let ruleSources: readonly NonNullable<PolicySource['bucketRules']>[] = []
  let objectSources: readonly NonNullable<PolicySource['objectPolicies']>[] = []
  let preparations: readonly NonNullable<PolicySource['prepare']>[] = []
  let builtIn: ReadonlyMap<string, CompiledPolicy> | undefined
  // Used by one evaluation at a time: if a condition itself asks for a decision, the object is taken and a new one is created.
  let spare: Evaluation | undefined = new Evaluation()

  function ask(request: AccessRequest, isPartial: boolean, given: RequestPolicies | undefined): boolean {
    // Only the exact value `true` is root.
    if (request.identity !== undefined && request.identity.isRoot === true) return true
    const evaluation = spare ?? new Evaluation()
    spare = undefined
    evaluation.begin(request, catalogue.find(request.action))
    evaluation.isPartial = isPartial
    try {
      return given === undefined ? askSources(evaluation, request) : decide(evaluation, ...listsOf(request, given))
    } finally {
      evaluation.end()
      spare = evaluation
    }
  }

  /** Like `decide`, without collecting the policies first. */
  function askSources(evaluation: Evaluation, request: AccessRequest): boolean {
    const { identity, bucket, bucketPolicies } = request
    if (identity !== undefined) {
      for (const source of identitySources) {
        const policies = source(identity)
        if (policies !== undefined && !evaluation.askIdentity(policies)) return false
      }
    }
    if (bucketPolicies !== undefined) {
      if (!evaluation.askBucket(bucketPolicies)) return false
    } else if (evaluation.isS3 && bucket !== undefined && bucket !== '') {
      for (const source of bucketSources) {
        const policies = source(bucket)
        if (policies !== undefined && !evaluation.askBucket(policies)) return false
      }
      for (const source of ruleSources) {
        const rules = source(bucket)
        if (rules !== undefined && !evaluation.askRules(rules)) return false
      }
      if (request.key && request.objectAcl !== undefined && !evaluation.isAllowed) {
        for (const policies of policiesOfObject(request)) if (!evaluation.askBucket(policies)) return false
      }
    }
    return evaluation.isAllowed
  }

  /** The policies of the object's access control list, which the request has. */
  function policiesOfObject({ bucket, objectAcl }: AccessRequest): readonly BucketPolicies[] {
    for (const source of objectSources) {
      const byAcl = source(bucket!)
      if (byAcl === undefined) continue
      const found = byAcl.get(objectAcl!() ?? '')
      return found === undefined ? [] : [found]
    }
    return []
  }

  /** The policies of all sources, for rare questions. */
  function collect({ identity, bucket, bucketPolicies, bucketRules }: SimulatedRequest): Lists {
    const identities = identity === undefined ? [] : identitySources.flatMap(source => source(identity) ?? [])
    if (bucketPolicies !== undefined) return [identities, [bucketPolicies], []]
    const buckets = bucket === undefined || bucket === '' ? [] : bucketSources.flatMap(source => source(bucket) ?? [])
    return [identities, buckets, bucketRules === undefined ? rulesOf(bucket) : [bucketRules]]
  }

  function rulesOf(bucket: string | undefined): readonly BucketRules[] {
    return bucket === undefined || bucket === '' ? [] : ruleSources.flatMap(source => source(bucket) ?? [])
  }

  const hasPublicRules = (bucket: string) => rulesOf(bucket).some(rules => rules.isPublicNow())

  return Object.freeze({
    open(sources: readonly PolicySource[], complete: Catalogue) {
      catalogue = complete
      builtIn = undefined
      identitySources = sources.flatMap(source => source.identityPolicies?.bind(source) ?? [])
      bucketSources = sources.flatMap(source => source.bucketPolicies?.bind(source) ?? [])
      ruleSources = sources.flatMap(source => source.bucketRules?.bind(source) ?? [])
      objectSources = sources.flatMap(source => source.objectPolicies?.bind(source) ?? [])
      preparations = sources.flatMap(source => source.prepare?.bind(source) ?? [])
    },
    prepare(bucket: string) {
      let pending: Promise<void> | undefined
      for (const prepare of preparations) {
        let prepared: MaybePromise<void>
        try {
          prepared = prepare(bucket)
        } catch (error) {
          prepared = Promise.reject(error)
        }
        if (prepared === undefined) continue
        pending = pending === undefined ? prepared : Promise.all([pending, prepared]).then(() => undefined)
      }
      return pending
    },
    isAllowed: (request: AccessRequest) => ask(request, false, undefined),
    isAllowedInPart: (request: AccessRequest) => ask(request, true, undefined),
    isPublic(bucket: string) {
      const [, known] = collect({ identity: undefined, action: '', bucket })
      return (
        hasPublicRules(bucket) ||
        known.some(
          ({ policies, blockPublicAccess }) =>
            blockPublicAccess !== true && policies.attached.some(({ policy }) => policy.isPublic),
        )
      )
    },
    hasPublicRules,
    publicStatements(bucket: string) {
      const [, known] = collect({ identity: undefined, action: '', bucket })
      return known.flatMap(({ policies, blockPublicAccess }) =>
        policies.attached.flatMap(({ policy, source }) =>
          publicStatementsOf(policy, source, blockPublicAccess === true, catalogue),
        ),
      )
    },
    publicStatementsOf: (policy: CompiledPolicy) => publicStatementsOf(policy, 'bucket-policy', false, catalogue),
    countsObjectAcls: (bucket: string) => objectSources.some(source => source(bucket) !== undefined),
    denialTags(request: AccessRequest) {
      if (request.identity?.isRoot === true) return undefined
      const known = rulesOf(request.bucket)
      if (known.length === 0) return undefined
      const evaluation = new Evaluation()
      evaluation.begin(request, catalogue.find(request.action))
      for (const rules of known) {
        const decision = rules.decide(evaluation)
        if (decision?.effect === 'deny') return { deniedBy: 'access-rule', accessRule: decision.rule }
      }
      const blocked = known.map(rules => rules.blockedBy(evaluation)).find(rule => rule !== undefined)
      return blocked === undefined ? undefined : { deniedBy: 'block-public', accessRule: blocked }
    },
    evaluate: (request: AccessRequest, policies: RequestPolicies) => ask(request, false, policies),
    simulate(request: SimulatedRequest, policies?: RequestPolicies) {
      const lists = policies === undefined ? collect(request) : listsOf(request, policies)
      return simulate(request, catalogue.find(request.action), ...lists)
    },
    mentions(request: AccessRequest, keyPrefix: string) {
      if (request.identity?.isRoot === true) return false
      const entry = catalogue.find(request.action)
      const isMentionedBy = (set: PolicySet) => {
        const { keys } = entry === undefined ? set.aboutUnknown(request.action) : set.about(entry)
        return keys.some(key => key.startsWith(keyPrefix))
      }
      const [identities, buckets] = collect(request)
      return (
        identities.some(({ granted, limits }) => isMentionedBy(granted) || limits?.some(isMentionedBy)) ||
        buckets.some(({ policies }) => isMentionedBy(policies))
      )
    },
    asksObjectAcl(request: AccessRequest) {
      const { identity, bucket, key } = request
      if (identity?.isRoot === true || !bucket || !key) return false
      const entry = catalogue.find(request.action)
      if (entry === undefined) return false
      return objectSources.some(source => {
        const byAcl = source(bucket)
        return (
          byAcl !== undefined && [...byAcl.values()].some(({ policies }) => policies.about(entry).allows.length > 0)
        )
      })
    },
    permissions({ identity, bucket, prefix = '', conditions }: PermissionsRequest) {
      const allowed: string[] = []
      const denied: string[] = []
      for (const action of catalogue.actions) {
        if (!isOffered(action, bucket !== undefined)) continue
        // A star as the key: only statements that cover everything under the prefix match it.
        const key = action.level === 'object' ? `${prefix}*` : ''
        const asked = { identity, action: action.action, conditions }
        const isAllowed =
          ask({ ...asked, bucket, key }, false, undefined) &&
          (!action.isOfServerToo || bucket === undefined || ask({ ...asked, key: '' }, false, undefined))
        const list = isAllowed ? allowed : denied
        list.push(action.action)
      }
      return { allowed, denied }
    },
    compile: (document: string | object, options: Parameters<PolicyService['compile']>[1]) =>
      compileDocument(document, options, catalogue, normalizeKey),
    combine: (attached: ConstructorParameters<typeof PolicySet>[0]) => new PolicySet(attached),
    actions: () => catalogue.actions,
    builtIn() {
      builtIn ??= new Map(
        builtInPolicies.map(({ name, document }) => [name, compileBuiltIn(name, document, catalogue)]),
      )
      return builtIn
    },
  } satisfies Policy)
}

type Lists = readonly [readonly IdentityPolicies[], readonly BucketPolicies[], readonly BucketRules[]]

function listsOf({ identity }: AccessRequest, policies: RequestPolicies): Lists {
  // An anonymous request has no policies of an identity.
  return [
    identity === undefined || policies.identity === undefined ? [] : [policies.identity],
    policies.bucket === undefined ? [] : [policies.bucket],
    [],
  ]
}

/** The active actions of S3 that a statement names, and that one of its resources can be meant by. */
function publicStatementsOf(
  { statements }: CompiledPolicy,
  source: PublicStatement['source'],
  isBlocked: boolean,
  catalogue: Catalogue,
): PublicStatement[] {
  return statements
    .filter(({ isPublic }) => isPublic)
    .map(statement => ({
      source,
      index: statement.index,
      sid: statement.sid,
      actions: actionsOf(statement, catalogue),
      document: statement.document,
      isBlocked,
    }))
}

function actionsOf({ actions, resources }: Statement, catalogue: Catalogue): readonly string[] {
  return catalogue.actions.flatMap(({ action, status }) => {
    const entry = catalogue.find(action)
    if (status !== 'active' || entry === undefined || !entry.isS3 || !actions.has(entry)) return []
    const isReached =
      resources === undefined || resources.isNegated || resources.list.some(resource => resource.couldCover(entry))
    return isReached ? [action] : []
  })
}

/** Asked of every bucket at once, for those whose names are not known yet and for lists of buckets. */
const onAnyBucket: ReadonlySet<string> = new Set(['s3:CreateBucket', 's3:DeleteBucket'])

/** The actions in the permissions view: without a bucket those on the server, with one those on the bucket. */
function isOffered({ level, status, isBucketScoped, action }: PolicyAction, hasBucket: boolean): boolean {
  if (status !== 'active') return false
  if (hasBucket) return level === 'object' || level === 'bucket' || isBucketScoped
  return level === 'account' || onAnyBucket.has(action) || !action.startsWith('s3:')
}

function compileBuiltIn(name: string, document: object, catalogue: Catalogue): CompiledPolicy {
  const { policy, errors } = compileDocument(document, { kind: 'identity' }, catalogue)
  if (policy === undefined) throw new Error(`the built-in policy ${name} is wrong: ${errors[0].message}`)
  return policy
}
