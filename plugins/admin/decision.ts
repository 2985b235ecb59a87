/**
 * Decides what a caller may do in a request. If a policy has conditions on tags of the object, they are fetched before the question about
 * the object of the request; for any other object such a policy denies.
 */
import type { TLSSocket } from 'node:tls'
import type { Clock, MaybePromise } from 'svc/kernel'
import type { Exchange } from 'svc/plugins/http/api'
import type { ObjectsService } from 'svc/plugins/objects/api'
import { ExistingTags } from 'svc/plugins/objects/api'
import { type AccessRequest, type PolicyService, type RequestFacts, requestConditions } from 'svc/plugins/policy/api'
import type { ActionTarget, AdminRequest, ConditionFacts, RequiredActions } from './api.ts'
import type { Caller } from './authentication.ts'
import { adminErrors } from './errors.ts'

export interface DecisionServices {
  readonly policy: Pick<PolicyService, 'denialTags' | 'isAllowed' | 'isAllowedInPart' | 'mentions' | 'prepare'>
  readonly objects: Pick<ObjectsService, 'getObject'>
  readonly clock: Clock
}

export interface Decision extends Pick<AdminRequest, 'isAllowed' | 'isAllowedInPart'> {
  /** Parameters as texts; set after the first question. */
  query: ReadonlyMap<string, string> | undefined
  /** `access_denied`; the audit record names the rule of the bucket that denied it, the answer does not. */
  denied(action: string, target: ActionTarget): Error
  /** Tags for the audit record of a request that a rule of the bucket denied. */
  denialTags(
    action: string,
    bucket?: string,
    key?: string,
    facts?: ConditionFacts,
  ): ReturnType<PolicyService['denialTags']>
  /** Throws `access_denied` unless all actions are allowed; of an inner array any one is enough. */
  require(actions: RequiredActions, asked: ActionTarget): MaybePromise<void>
}

const tagConditions = 's3:existingobjecttag/'

/** `pathBucket`: the bucket in the path, if any. */
export function createDecision(
  services: DecisionServices,
  exchange: Exchange,
  caller: Caller,
  pathBucket?: string,
): Decision {
  const { policy, objects, clock } = services
  const { identity, signature } = caller
  const isRoot = identity?.isRoot === true
  let tags: ExistingTags | undefined

  function question(action: string, bucket?: string, key?: string, facts?: ConditionFacts): AccessRequest {
    return {
      identity,
      action,
      bucket,
      key,
      conditions: () => requestConditions(factsOf(bucket ?? '', key ?? '', facts)),
    }
  }

  function factsOf(bucket: string, key: string, facts: ConditionFacts | undefined): RequestFacts {
    return {
      sourceAddress: exchange.clientAddress,
      secure: exchange.secure,
      tlsVersion: tlsVersionOf(exchange.request.socket as TLSSocket),
      timeMs: clock.now(),
      headers: exchange.request.headers,
      query: decision.query,
      versionId: versionOf(facts),
      signature: signature === undefined ? undefined : 'header',
      signatureVersion: signature?.signatureVersion,
      host: exchange.host,
      method: exchange.request.method,
      existingTags: () => tags?.get(bucket, key, versionOf(facts)),
      ...facts,
      ...(facts?.headers === undefined ? undefined : { headers: { ...browserHeaders(exchange), ...facts.headers } }),
    }
  }

  /** The version of a question: from the operation's facts, otherwise from the parameter. */
  function versionOf(facts: ConditionFacts | undefined): string | undefined {
    return facts?.versionId ?? (facts?.query ?? decision.query)?.get('versionId')
  }

  async function requireKnowing(actions: RequiredActions, asked: ActionTarget): Promise<void> {
    const { bucket = '', key = '', versionId, facts } = asked
    await policy.prepare(bucket)
    const names = actions.flat()
    if (key !== '' && names.some(action => policy.mentions(question(action, bucket, key, facts), tagConditions))) {
      tags ??= new ExistingTags(objects)
      await tags.fetch(bucket, key, versionId ?? versionOf(facts))
    }
    requireAll(actions, asked)
  }

  function requireAll(actions: RequiredActions, target: ActionTarget): void {
    const { bucket, key, facts } = target
    for (const needed of actions) {
      const alternatives = typeof needed === 'string' ? [needed] : needed
      if (alternatives.some(action => decision.isAllowed(action, bucket, key, facts))) continue
      throw decision.denied(alternatives[0]!, target)
    }
  }

  const decision: Decision = {
    query: undefined,
    isAllowed(action, bucket, key, facts) {
      if (isRoot) return true
      const asked = question(action, bucket, key, facts)
      // If a policy needs tags that were not fetched, it might deny, so the answer is no.
      const isKnown = key === undefined || key === '' || tags?.has(bucket ?? '', key, versionOf(facts)) === true
      if (!isKnown && policy.mentions(asked, tagConditions)) return false
      return policy.isAllowed(asked)
    },
    denialTags: (action, bucket, key, facts) => policy.denialTags(question(action, bucket, key, facts)),
    denied: (action, { bucket, key, facts, isBucketNamed = bucket === pathBucket }) => {
      // The caller may have the right for other buckets, and must not learn of buckets from what uses them.
      const named = isBucketNamed ? `the bucket ${bucket}` : 'each bucket that this concerns'
      const where = bucket ? ` for ${named}` : ''
      return adminErrors.access_denied(`You may not do this: it needs the right ${action}${where}.`, {
        tags: decision.denialTags(action, bucket, key, facts),
      })
    },
    isAllowedInPart: (action, bucket) => policy.isAllowedInPart(question(action, bucket)),
    require: (actions, asked) =>
      isRoot || !asked.bucket ? requireAll(actions, asked) : requireKnowing(actions, asked),
  }
  return decision
}

/** The headers of the client itself that conditions need, even if other headers are replaced. */
function browserHeaders({ request: { headers } }: Exchange) {
  return { referer: headers.referer, 'user-agent': headers['user-agent'] }
}

function tlsVersionOf(socket: TLSSocket): string | undefined {
  const protocol = socket.getProtocol?.()
  return protocol?.startsWith('TLSv') ? protocol.slice(4) : undefined
}
