import { type Clock, suggest } from 'svc/kernel'
import { type AdminRequest, adminErrors, checkField, defineAdminOperation, invalidFields } from 'svc/plugins/admin/api'
import type { IamService, Identity } from 'svc/plugins/iam/api'
import {
  type DisclosedSimulation,
  disclose,
  type PolicyAction,
  parseAddress,
  type RequestFacts,
  requestConditions,
} from 'svc/plugins/policy/api'
import type { Static } from 'typebox'
import { requestOf } from '../access-rules.ts'
import type {} from '../admin-service.ts'
import { accessRuleErrors } from '../errors.ts'
import { type Explanation, explain } from '../explanation.ts'
import type { AccessRoute } from '../points.ts'
import { decideRouted, type RoutedDecision } from '../routed-decision.ts'
import { type ActionClass, actionClasses } from '../rule.ts'
import { BucketParameters } from './access-rules-schema.ts'
import { AccessTestRequest, AccessTestResult } from './access-test-schema.ts'

export default defineAdminOperation({
  id: 'testAccessRules',
  method: 'POST',
  path: '/buckets/{bucket}/access-rules/test',
  tag: 'access-rules',
  summary:
    'Says whether a caller may do something with keys of a bucket, by which rule or policy, and why other rules do not count.',
  isSafe: true,
  authorize: 'service',
  params: BucketParameters,
  body: AccessTestRequest,
  response: AccessTestResult,
  errors: [
    'bucket_not_found',
    'distribution_not_found',
    'invalid_access_rule',
    'too_many_access_rules',
    'user_not_found',
  ],
  uses: ['accessRules', 'accessRulesAdmin', 'iam', 'objects', 'policy', 'ports'],
  async handle(request, { accessRules, accessRulesAdmin, iam, objects, policy, ports: { clock } }) {
    const { params, body } = request
    const { bucket } = params
    request.requireAllowed('admin:ManageAccessRules', bucket)
    await objects.getBucket(bucket)
    const { distribution } = body
    const route = distribution === undefined ? undefined : await accessRulesAdmin.route(distribution, bucket)
    const action = readAction(body.action ?? 'read', policy.actions())
    const identity = await identityOf(request, body.principal, iam)
    await policy.prepare(bucket)
    const { rules } = body
    const set = rules === undefined ? (await accessRules.rules(bucket)).set : accessRules.compile(rules)
    const isBlocked = await accessRules.ignoresPublic(bucket)
    const draft = rules === undefined ? {} : { bucketRules: set!.asBucketRules(isBlocked, clock.now) }
    const ownership = ownershipOf(request, identity)
    const mayReadRoute = route === undefined || request.isAllowed('admin:ManageDistributions', bucket)
    const results = (body.keys ?? ['']).map(key => {
      const normalizedKey = request.normalizeKey(key)
      const isOnObject = action.level === 'object'
      const prefix = isOnObject ? undefined : normalizedKey
      const facts = { ...factsOf(request, body, identity, clock, action.action, prefix), ...routeFacts(body, route) }
      const asked = { identity, action: action.action, facts, key: isOnObject ? normalizedKey : undefined }
      const conditions = () => requestConditions(facts)
      const simulated = () =>
        disclose(policy.simulate({ identity, action: action.action, bucket, key: asked.key, conditions, ...draft }), {
          bucket,
          ...ownership,
          isAllowed: request.isAllowed,
        })
      const denial = () => {
        const found = set?.find(requestOf({ ...asked, identity: undefined }), isBlocked)
        return found?.isDeny === true ? found.rule.id : undefined
      }
      const decided =
        route === undefined
          ? decisionOf(simulated())
          : decideRouted(route, {
              key: normalizedKey,
              action: action.action,
              isAnonymous: identity === undefined,
              isPublicBlocked: isBlocked,
              denial,
              simulated,
              ofSimulation: decisionOf,
            })
      const told = mayReadRoute ? decided : withoutRoute(decided)
      return describe(key, normalizedKey, explain(set, requestOf(asked), isBlocked), told)
    })
    return { bucket, action: action.action, blockPublic: isBlocked, results }
  },
})

type Asked = Static<typeof AccessTestRequest>

function readAction(text: string, known: readonly PolicyAction[]): PolicyAction {
  const name = Object.hasOwn(actionClasses, text) ? actionClasses[text as ActionClass][0] : text
  const listing: readonly string[] = actionClasses.list
  const usable = known.filter(
    ({ action, level }) => action.startsWith('s3:') && (level === 'object' || listing.includes(action)),
  )
  const found = usable.find(({ action }) => action.toLowerCase() === name.toLowerCase())
  if (found !== undefined) return found
  const names = [...Object.keys(actionClasses), ...usable.map(({ action }) => action)]
  const what = `${JSON.stringify(text)} is neither a class of actions nor an action on objects or s3:ListBucket…`
  throw invalidFields([{ element: '/action', message: `${what}${suggest(text, names)}` }])
}

/** Undefined: an anonymous caller. To test another caller, the right to simulate policies is required. */
async function identityOf(
  { identity, requireAllowed }: AdminRequest,
  principal: string | undefined,
  iam: IamService,
): Promise<Identity | undefined> {
  if (principal === undefined || principal === '*') return undefined
  if (principal === identity?.accessKey) return identity
  requireAllowed('admin:SimulatePolicy')
  return checkField('/principal', async () => {
    const found = await iam.credentials(principal)
    if (found !== undefined) return found.identity
    throw accessRuleErrors.user_not_found(
      `Nobody has the access key ${JSON.stringify(principal)}, or it is disabled or expired. A user's name is an access key, too; a group's is none.`,
    )
  })
}

/** How the tested caller is related to this one, who may read its own policies. An anonymous caller has none. */
function ownershipOf({ identity: caller }: Pick<AdminRequest, 'identity'>, tested: Identity | undefined) {
  const isOwnCredentials = tested === undefined || tested === caller
  return {
    isOwnCredentials,
    isOwnUser: tested === undefined || (isOwnCredentials && tested.isRestricted !== true),
    isRestricted: tested !== undefined && isOwnCredentials && tested.isRestricted === true,
  }
}

/** The behaviors of a distribution are told to callers who may read the distribution. */
function withoutRoute(decided: RoutedDecision): RoutedDecision {
  if (decided.source !== 'distribution') return decided
  return { ...decided, reason: `The distribution ${decided.allowed ? 'allows' : 'denies'} it.` }
}

function factsOf(
  { exchange }: Pick<AdminRequest, 'exchange'>,
  { ip, host, method, secure, referer, headers = {}, time }: Asked,
  identity: Identity | undefined,
  clock: Clock,
  action: string,
  prefix: string | undefined,
): RequestFacts {
  const timeMs = time === undefined ? clock.now() : Date.parse(time)
  if (Number.isNaN(timeMs)) throw adminErrors.invalid_argument('/time is no time: write 2030-01-31T08:00:00Z.')
  if (ip !== undefined && parseAddress(ip) === undefined) {
    throw invalidFields([{ element: '/ip', message: 'is no address' }])
  }
  const sent = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  return {
    sourceAddress: ip ?? exchange.clientAddress,
    secure: secure ?? exchange.secure,
    timeMs,
    headers: { ...sent, ...(referer === undefined ? {} : { referer }) },
    prefix,
    signature: identity === undefined ? 'anonymous' : 'header',
    signatureVersion: identity === undefined ? undefined : 'AWS4-HMAC-SHA256',
    host: host ?? exchange.host,
    method: (method ?? methodOf(action)).toUpperCase(),
  }
}

/** The facts of a request that comes through a distribution. */
function routeFacts({ distribution, host }: Asked, route: AccessRoute | undefined): Partial<RequestFacts> {
  return route === undefined ? {} : { distribution, host: host ?? route.host }
}

function methodOf(action: string): string {
  if (/^s3:(Put|Create)/.test(action)) return 'PUT'
  return /^s3:(Delete|Abort)/.test(action) ? 'DELETE' : 'GET'
}

function describe(
  key: string,
  normalizedKey: string,
  { rules, matched, blockedPublic, outcome }: Explanation,
  decided: RoutedDecision,
) {
  return {
    key,
    normalizedKey,
    rules: rules.map(({ mismatch, condition, ...rule }) => ({
      ...rule,
      captures: { ...rule.captures },
      ...(mismatch === undefined ? {} : { mismatch }),
      ...(condition === undefined ? {} : { condition }),
    })),
    matched: [...matched],
    blockedPublic: [...blockedPublic],
    rulesOutcome: outcome,
    ...decided,
  }
}

const decisionOf = (decided: DisclosedSimulation): RoutedDecision => ({
  allowed: decided.allowed,
  determinant: determinantOf(decided),
  source: decided.source,
  reason: decided.reason,
})

function determinantOf({ rule, policyName, statement }: DisclosedSimulation): string {
  if (rule !== undefined) return rule
  if (policyName !== '') return policyName
  return statement === undefined ? '' : statement.sid === '' ? `statement ${statement.index}` : statement.sid
}
