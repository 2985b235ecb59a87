/**
 * The service `accessRules` and its contribution to `policy.source`.
 *
 * Invariants:
 *
 * 1. A decision takes into account every change of the rules, of the bucket's block and of the cluster's that was acknowledged before
 *    the request arrived: `prepare` reads them, and later decisions of the request never use older state.
 * 2. Damage gives no caller a right: rules that cannot be read or compiled deny every action that rules can allow.
 * 3. Rules that were not prepared and cannot be read without waiting deny the same.
 */
import { type Clock, chain, isCatalogError, type Logger, type MaybePromise } from 'svc/kernel'
import type { ArchiveSection } from 'svc/plugins/cluster-archive/api'
import type { Identity } from 'svc/plugins/iam/api'
import type { ObjectOwnershipService } from 'svc/plugins/object-ownership/api'
import {
  type BucketRules,
  createPrepared,
  keyNormalizerOf,
  type PolicyService,
  type PolicySource,
  principalValues,
  type RequestFacts,
  type RuleRequest,
  requestConditions,
} from 'svc/plugins/policy/api'
import {
  bucketDocument,
  noRulesEtag,
  rulesPreconditions,
  type StoredDocument,
  type StoreService,
  storeErrors,
} from 'svc/plugins/store/api'
import type { AccessRulesService, RulesOfBucket } from './api.ts'
import { checkRules, compileStoredRules } from './check-rules.ts'
import type { RuleContext } from './compiled-rule.ts'
import type { AccessRulesConfig } from './config.ts'
import { accessRuleErrors } from './errors.ts'
import type { AccessRuleProblem } from './problems.ts'
import { isPublicRule, StoredRules } from './rule.ts'
import type { RuleSet } from './rule-set.ts'

export interface AccessRulesOptions {
  readonly store: StoreService
  readonly policy: PolicyService
  readonly objectOwnership: Pick<ObjectOwnershipService, 'blocks' | 'ownBlocks'>
  readonly config: AccessRulesConfig
  readonly clock: Clock
  readonly log: Logger
  /** The problems of rules, as the error of the answer. */
  readonly invalidRules: (problems: readonly AccessRuleProblem[]) => Error
}

export interface AccessRules {
  readonly service: AccessRulesService
  readonly source: PolicySource
  readonly section: ArchiveSection
}

/** In the forms that the engine takes, made once per change. */
interface Usable {
  readonly set: RuleSet | undefined
  readonly open: BucketRules
  readonly publicBlocked: BucketRules
}

const denyEverything: BucketRules = Object.freeze({
  isPublicNow: () => false,
  decide: ({ key, action }: RuleRequest) =>
    key !== undefined || action.startsWith('s3:ListBucket') ? ({ effect: 'deny', rule: '' } as const) : undefined,
  blockedBy: () => undefined,
})

/** Declares a collection: during set-up. */
export function createAccessRules(options: AccessRulesOptions): AccessRules {
  const { store, policy, objectOwnership, config, clock, log, invalidRules } = options
  const documents = bucketDocument(store, { name: 'access-rules', schema: StoredRules })
  const usable = documents.compiled(compileStored, ({ set }) => set?.memoryBytes ?? 0)
  const normalizeKey = keyNormalizerOf(config)
  // The catalogue is complete only when every plugin is set up.
  const context = (): RuleContext => ({ actions: policy.actions(), normalizeKey })

  function compileStored({ id, value }: StoredDocument<StoredRules>): Usable {
    const compiled = compileStoredRules(value.rules, context())
    if ('set' in compiled) {
      const { set } = compiled
      return { set, open: set.asBucketRules(false, clock.now), publicBlocked: set.asBucketRules(true, clock.now) }
    }
    log.error(
      { bucket: id, ...compiled.problem },
      'stored access rules are invalid: everybody but root is denied the objects of this bucket; replace or remove the rules',
    )
    return { set: undefined, open: denyEverything, publicBlocked: denyEverything }
  }

  const ignoresPublic = (bucket: string): MaybePromise<boolean> =>
    chain(objectOwnership.blocks(bucket), ({ restrictPublicBuckets }) => restrictPublicBuckets)

  function rulesOf(bucket: string): MaybePromise<BucketRules | undefined> {
    return chain(usable.get(bucket), found => {
      if (found === undefined) {
        return chain(documents.problem(bucket), problem => (problem === undefined ? undefined : denyEverything))
      }
      if (found.set?.isPublic !== true) return found.open
      return chain(ignoresPublic(bucket), isIgnored => (isIgnored ? found.publicBlocked : found.open))
    })
  }

  function check(rules: readonly unknown[]): readonly AccessRuleProblem[] {
    return checkRules(rules, context()).problems ?? []
  }

  async function describe(bucket: string): Promise<RulesOfBucket> {
    const document = await documents.get(bucket)
    if (document === undefined) {
      if ((await documents.problem(bucket)) !== undefined) throw unreadable()
      return { rules: [], etag: noRulesEtag, updatedMs: undefined, updatedBy: undefined, set: undefined }
    }
    const { value, etag, modifiedMs } = document
    const set = (await usable.get(bucket))?.set
    return { rules: value.rules, etag, updatedMs: modifiedMs, updatedBy: value.updatedBy, set }
  }

  async function changedSince(bucket: string, cause?: unknown): Promise<Error> {
    const document = await documents.get(bucket)
    const etag = document?.etag ?? noRulesEtag
    return storeErrors.precondition_failed(
      `The rules of ${bucket} have changed since (ETag is now "${etag}"): read them with svcctl access get, and try again.`,
      { cause },
    )
  }

  function compileSent(sent: readonly unknown[]) {
    if (sent.length > config.rulesMax) throw tooMany(sent.length, config)
    const { rules, set, problems } = checkRules(sent, context())
    if (rules === undefined) throw invalidRules(problems)
    return { rules, set }
  }

  /** Throws the errors of rules that may not be stored in this bucket. */
  async function acceptable(bucket: string, sent: readonly unknown[]) {
    const compiled = compileSent(sent)
    const publicRule = compiled.rules.find(isPublicRule)
    if (publicRule !== undefined && (await objectOwnership.blocks(bucket)).blockPublicPolicy) {
      const isOwn = (await objectOwnership.ownBlocks(bucket)).blockPublicPolicy
      const block = isOwn
        ? `The bucket ${bucket} blocks public access (svcctl access block-public ALIAS/${bucket} off removes the block)`
        : 'The whole server blocks public access (svcctl access block-public ALIAS off removes the block)'
      throw accessRuleErrors.public_access_blocked(
        `${block}, and the rule "${publicRule.id}" allows something to everybody; nothing was stored.`,
      )
    }
    return compiled
  }

  const service: AccessRulesService = {
    rules: describe,
    check,
    ignoresPublic,
    compile: sent => compileSent(sent).set,
    async tryReplace(bucket, sent, { ifMatch } = {}) {
      const { rules, set } = await acceptable(bucket, sent)
      // Rules that cannot be read may be replaced.
      const etag = (await documents.get(bucket))?.etag ?? noRulesEtag
      if (ifMatch !== undefined && ifMatch !== '*' && ifMatch !== etag) throw await changedSince(bucket)
      return { rules, etag, updatedMs: undefined, updatedBy: undefined, set }
    },
    async replace(bucket, sent, updatedBy, preconditions) {
      const { rules } = await acceptable(bucket, sent)
      const value = rules.length === 0 ? undefined : { rules: [...rules], updatedBy }
      try {
        await documents.replace(bucket, value, rulesPreconditions(preconditions))
      } catch (error) {
        if (isCatalogError(error) && error.code === 'precondition_failed') throw await changedSince(bucket, error)
        throw error
      }
      return describe(bucket)
    },
    denial: (bucket, key, action, facts, identity) =>
      chain(rulesOf(bucket), rules => {
        const decision = rules?.decide(requestOf({ key, action, facts: facts(), identity }))
        return decision?.effect === 'deny' ? { rule: decision.rule } : undefined
      }),
  }
  const prepared = createPrepared(rulesOf, () => denyEverything)
  const section: ArchiveSection = {
    documents,
    problem(_bucket, { rules }: StoredRules) {
      if (rules.length > config.rulesMax) return tooMany(rules.length, config).message
      const [problem] = check(rules)
      return problem && `has a wrong rule "${problem.id}": ${problem.field} ${problem.message}`
    },
  }
  return { service, source: { prepare: prepared.prepare, bucketRules: prepared.get }, section }
}

export interface AskedRequest {
  /** Undefined for a listing; its prefix is in the query of the facts, or `facts.prefix`. */
  readonly key: string | undefined
  readonly action: string
  readonly facts: RequestFacts
  readonly identity: Identity | undefined
}

/** A question to rules that the policy engine does not ask. */
export function requestOf({ key, action, facts, identity }: AskedRequest): RuleRequest {
  const conditions = requestConditions(facts)
  return {
    identity,
    action,
    key,
    facts,
    isPartial: false,
    blocksPublic: false,
    values: name => principalValues(identity, name) ?? conditions.get(name),
  }
}

function tooMany(count: number, { rulesMax }: AccessRulesConfig) {
  return accessRuleErrors.too_many_access_rules(
    `The bucket would have ${count} access rules; at most ${rulesMax} are allowed (SVC_ACCESS_RULES_MAX).`,
  )
}

function unreadable() {
  return storeErrors.document_unreadable(
    'The stored access rules cannot be read: everything is denied until they are replaced.',
  )
}
