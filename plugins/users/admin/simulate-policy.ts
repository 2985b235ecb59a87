import { isIP } from 'node:net'
import { type Clock, suggest } from 'svc/kernel'
import { adminErrors, checkField, defineAdminOperation, invalidFields, passAll } from 'svc/plugins/admin/api'
import type { Identity } from 'svc/plugins/iam/api'
import { requireNewBucketName } from 'svc/plugins/objects/api'
import {
  type DisclosedSimulation,
  disclose,
  type EvaluatedStatement,
  type PolicyService,
  requestConditions,
  type SimulatedRequest,
  type Simulation,
} from 'svc/plugins/policy/api'
import { type Static, Type } from 'typebox'
import { noUser, type UsersService } from '../api.ts'
import { userNameOf } from '../user-directory.ts'
import { ownUserOf } from './caller.ts'

const SimulationRequest = Type.Object(
  {
    user: Type.Optional(
      Type.String({ maxLength: 128, description: 'A user; default: the caller, with the rights of its credentials.' }),
    ),
    action: Type.String({ minLength: 1, maxLength: 128 }),
    bucket: Type.Optional(Type.String({ maxLength: 255 })),
    object: Type.Optional(Type.String({ maxLength: 1024, description: 'An object key; needs `bucket`.' })),
    sourceIp: Type.Optional(Type.String({ maxLength: 45, description: 'Default: the address of this request.' })),
    secureTransport: Type.Optional(Type.Boolean({ description: 'Default: as in this request.' })),
    time: Type.Optional(Type.String({ format: 'date-time', description: 'Default: now.' })),
    conditions: Type.Optional(
      Type.Record(Type.String({ maxLength: 256 }), Type.Array(Type.String({ maxLength: 2048 }), { maxItems: 100 }), {
        maxProperties: 100,
        description: 'Values of other condition keys, such as `s3:prefix`.',
      }),
    ),
  },
  { $id: 'SimulationRequest' },
)

const PolicySource = Type.Union([
  Type.Literal('policy'),
  Type.Literal('group-policy'),
  Type.Literal('bucket-policy'),
  Type.Literal('acl'),
  Type.Literal('embedded-policy'),
])
const Statement = Type.Record(Type.String(), Type.Unknown(), { description: 'The statement as written in its policy.' })

const Evaluated = Type.Object(
  {
    source: PolicySource,
    policyName: Type.String(),
    group: Type.String(),
    index: Type.Integer({ minimum: 0 }),
    sid: Type.String(),
    effect: Type.Union([Type.Literal('Allow'), Type.Literal('Deny')]),
    matched: Type.Boolean(),
    mismatch: Type.Optional(
      Type.Union(
        [Type.Literal('principal'), Type.Literal('action'), Type.Literal('resource'), Type.Literal('condition')],
        { description: 'The first part that did not match; absent if all matched.' },
      ),
    ),
    statement: Statement,
  },
  { $id: 'EvaluatedStatement' },
)

const SimulationResult = Type.Object(
  {
    user: Type.String(),
    action: Type.String(),
    bucket: Type.String(),
    object: Type.String(),
    allowed: Type.Boolean(),
    decision: Type.Union([Type.Literal('allow'), Type.Literal('explicit-deny'), Type.Literal('implicit-deny')]),
    reason: Type.String(),
    source: Type.Union(
      [
        PolicySource,
        Type.Literal('root'),
        Type.Literal('access-rule'),
        Type.Literal('block-public'),
        Type.Literal('disabled'),
        Type.Literal('none'),
        Type.Literal('hidden'),
      ],
      {
        description:
          '`disabled`: the user is disabled, whatever its policies allow. `hidden`: policies or rules that the caller may not read, or what follows from them.',
      },
    ),
    policyName: Type.String(),
    group: Type.String(),
    statement: Type.Optional(Statement),
    evaluated: Type.Array(Evaluated, {
      description: 'The statements that were evaluated and that the caller may read.',
    }),
  },
  { $id: 'SimulationResult' },
)

export default defineAdminOperation({
  id: 'simulatePolicy',
  method: 'POST',
  path: '/policies/simulate',
  tag: 'policies',
  summary:
    "Decides whether a user may do an action, names the statement that decides, and explains why the others do not apply. Statements are shown to callers who may read their policies: one's own, those of others with admin:GetPolicy, those of a bucket with s3:GetBucketPolicy.",
  isSafe: true,
  authorize: 'self',
  body: SimulationRequest,
  response: SimulationResult,
  errors: ['user_not_found'],
  uses: ['policy', 'users', 'ports'],
  async handle(request, { policy, users, ports: { clock } }) {
    const { body, identity, exchange, requireAllowed, isAllowed } = request
    const { action, bucket = '', object = '' } = body
    await passAll([
      () => requireKnown(action, policy),
      () => {
        if (object !== '' && bucket === '') throw invalidFields([{ element: '/object', message: 'needs a bucket' }])
      },
      () => {
        if (body.sourceIp !== undefined && isIP(body.sourceIp) === 0)
          throw invalidFields([{ element: '/sourceIp', message: 'is no address' }])
      },
      () => {
        if (bucket !== '') checkField('/bucket', () => requireNewBucketName(bucket))
      },
    ])
    const isOther = body.user !== undefined && body.user !== (identity!.userName ?? identity!.accessKey)
    // Also for the caller's own user, if the credentials are restricted: they must not learn more than their own rights.
    if (isOther || (body.user !== undefined && identity!.isRestricted === true)) requireAllowed('admin:SimulatePolicy')
    const simulated =
      body.user === undefined ? identity! : await checkField('/user', () => identityOf(body.user!, users))
    if (bucket !== '') await policy.prepare(bucket)
    const conditions = conditionsOf(body, exchange, clock)
    const result = simulate(policy, { identity: simulated, action, bucket, key: object, conditions })
    const told = disclose(result, {
      bucket,
      isAllowed,
      isOwnUser: ownUserOf(request) === userNameOf(simulated),
      isOwnCredentials: body.user === undefined,
      isRestricted: body.user === undefined && identity!.isRestricted === true,
    })
    const isDisabled = body.user !== undefined && !simulated.isRoot && (await isDisabledUser(body.user, users))
    const { allowed, decision, reason, source, policyName, group, statement } = isDisabled ? ofDisabled : told
    return {
      user: simulated.userName ?? simulated.accessKey,
      action,
      bucket,
      object,
      allowed,
      decision,
      reason,
      source,
      policyName,
      group,
      ...(statement === undefined ? {} : { statement: { ...statement.statement } }),
      evaluated: told.evaluated.map(describeStatement),
    }
  },
})

async function identityOf(user: string, users: UsersService): Promise<Identity> {
  const found = await users.describeIdentity(user)
  if (found === undefined) throw noUser(user)
  return found
}

async function isDisabledUser(user: string, users: UsersService): Promise<boolean> {
  return (await users.getUser(user)).status === 'disabled'
}

/** None of its requests gets as far as the policies. Told to whoever may ask: that all is denied would tell it as well. */
const ofDisabled: Omit<DisclosedSimulation, 'evaluated' | 'rule' | 'source'> & { readonly source: 'disabled' } = {
  allowed: false,
  decision: 'explicit-deny',
  reason: 'The user is disabled: nothing is possible with any of its keys.',
  source: 'disabled',
  policyName: '',
  group: '',
  statement: undefined,
}

/** Operations on distributions ask for their action without a bucket first: what a bucket alone allows opens nothing. */
function simulate(policy: PolicyService, request: SimulatedRequest): Simulation {
  const name = request.action.toLowerCase()
  const isOfServerToo = policy.actions().some(known => known.isOfServerToo && known.action.toLowerCase() === name)
  const onServer = isOfServerToo ? policy.simulate({ ...request, bucket: '', key: '' }) : undefined
  if (onServer === undefined || onServer.allowed) return policy.simulate(request)
  const reason = `${onServer.reason} ${request.action} is needed without a bucket, too: a statement with the resource * allows it, others can deny it for buckets.`
  return { ...onServer, reason }
}

/** Refuses an unknown action: otherwise it would simply be denied, without a reason. */
function requireKnown(action: string, policy: PolicyService): void {
  const Statement = [{ Effect: 'Allow', Action: action, Resource: '*' }]
  if (policy.compile({ Version: '2012-10-17', Statement }, { kind: 'identity' }).policy !== undefined) return
  const names = policy.actions().map(({ action: known }) => known)
  throw invalidFields([
    { element: '/action', message: `${JSON.stringify(action)} is no action that exists${suggest(action, names)}` },
  ])
}

function describeStatement(evaluated: EvaluatedStatement) {
  const { source, policyName, group, index, sid, effect, matched, mismatch, statement } = evaluated
  const told = { source, policyName, group, index, sid, effect, matched, statement: { ...statement } }
  return mismatch === undefined ? told : { ...told, mismatch }
}

function conditionsOf(
  { sourceIp, secureTransport, time, conditions = {} }: Static<typeof SimulationRequest>,
  { clientAddress, secure }: { readonly clientAddress: string; readonly secure: boolean },
  clock: Clock,
) {
  const timeMs = time === undefined ? clock.now() : Date.parse(time)
  if (Number.isNaN(timeMs)) throw adminErrors.invalid_argument('/time must be a date.')
  const given = new Map(Object.entries(conditions).map(([key, values]) => [key.toLowerCase(), values]))
  const referer = given.get('aws:referer')?.[0]
  const { facts, get } = requestConditions({
    sourceAddress: sourceIp ?? clientAddress,
    secure: secureTransport ?? secure,
    timeMs,
    headers: { ...(referer !== undefined && { referer }) },
    hasUnknownHeaders: true,
    signature: 'header',
    signatureVersion: 'AWS4-HMAC-SHA256',
  })
  // Rules ask the facts.
  return () => ({ facts, get: (key: string) => given.get(key) ?? get(key) })
}
