import { isIP } from 'node:net'
import { type AdminRequest, adminErrors, defineAdminOperation } from 'svc/plugins/admin/api'
import type {} from 'svc/plugins/iam/api'
import { Type } from 'typebox'
import { DistributionInput } from '../document.ts'
import type {} from '../service.ts'
import type { TestResult } from '../trial.ts'
import { IdParameters, manage, saveErrors, saverOf } from './distribution-request.ts'

const DistributionTestRequest = Type.Object(
  {
    url: Type.String({ minLength: 1, maxLength: 8192, description: 'Absolute, or a path at the first alias.' }),
    method: Type.String({
      default: 'GET',
      pattern: '^[A-Z]{1,16}$',
      errorMessage: 'must be a method of HTTP in capital letters, as GET',
    }),
    headers: Type.Record(Type.String({ maxLength: 128 }), Type.String({ maxLength: 8192 }), {
      default: {},
      maxProperties: 100,
    }),
    ip: Type.String({ default: '127.0.0.1', maxLength: 64, description: 'The address of the client.' }),
    principal: Type.Optional(Type.String({ maxLength: 128, description: 'An access key; absent: anonymous.' })),
    time: Type.Optional(Type.String({ format: 'date-time', description: 'Default: now.' })),
    draft: Type.Optional(
      Type.Object(DistributionInput.properties, {
        additionalProperties: false,
        description: 'Tested instead of what is stored, and not stored; there need not be a distribution yet.',
      }),
    ),
  },
  { $id: 'DistributionTestRequest', additionalProperties: false },
)

const DistributionTestResult = Type.Object(
  {
    distribution: Type.String(),
    host: Type.String(),
    path: Type.String(),
    mode: Type.String(),
    enabled: Type.Boolean(),
    behavior: Type.Object({
      index: Type.Integer({ description: '-1: the default.' }),
      pathPattern: Type.Optional(Type.Unknown()),
      access: Type.String({ description: 'Empty where it was not looked at.' }),
    }),
    restriction: Type.Object({ allowed: Type.Boolean(), reason: Type.String() }),
    redirect: Type.Optional(Type.Object({ status: Type.Integer(), location: Type.String() })),
    bucket: Type.String(),
    key: Type.String({ description: 'Of the object that would be answered; empty where there is none.' }),
    decision: Type.Enum(['allow', 'deny']),
    source: Type.Enum(['distribution', 'policy', 'access-rule', 'block-public', 'signature'], {
      description: 'The step that decided.',
    }),
    rule: Type.String({ description: 'The access rule that denies; empty if none does.' }),
    status: Type.Integer(),
    reason: Type.String({ description: 'As in the log.' }),
    errorPage: Type.String({
      description: 'Path of the error page of the distribution that is shown; empty: none, or the one of the server.',
    }),
    responseHeaders: Type.Record(Type.String(), Type.String()),
    cachePolicy: Type.String(),
  },
  { $id: 'DistributionTestResult' },
)

export default defineAdminOperation({
  id: 'testDistribution',
  method: 'POST',
  path: '/distributions/{id}/test',
  tag: 'distributions',
  summary: 'Says how a request would be answered, and why. Nothing is sent, and no token of a limit is spent.',
  isSafe: true,
  authorize: [manage],
  params: IdParameters,
  body: DistributionTestRequest,
  response: DistributionTestResult,
  errors: ['access_denied', 'distribution_not_found', ...saveErrors],
  uses: ['distributionsAdmin', 'iam'],
  async handle(request, { distributionsAdmin, iam }) {
    const { params, body, identity: caller } = request
    const { url, method, headers, ip, principal, time, draft } = body
    if (draft === undefined) {
      const { bucket } = await distributionsAdmin.get(params.id)
      await request.authorize([manage], { bucket })
    } else if (draft.id !== params.id) throw adminErrors.invalid_argument('/draft/id: must be that of the path.')
    if (isIP(ip) === 0) throw adminErrors.invalid_argument('/ip: is no address.')
    const nowMs = time === undefined ? undefined : Date.parse(time)
    if (principal !== undefined && principal !== caller?.accessKey) request.requireAllowed('admin:SimulatePolicy')
    const identity = principal === undefined ? undefined : (await iam.credentials(principal))?.identity
    if (principal !== undefined && identity === undefined) {
      throw adminErrors.invalid_argument('/principal: there is no such access key, or it is disabled.')
    }
    const change = draft && { input: draft, ...saverOf(request) }
    const result = await distributionsAdmin.test(params.id, { url, method, headers, ip, identity, nowMs }, change)
    return withoutUnreadable(result, request)
  },
})

/** Names a rule, or the block of public access, to callers only who may read it. */
function withoutUnreadable(result: TestResult, { isAllowed }: Pick<AdminRequest, 'isAllowed'>): TestResult {
  const { source, bucket } = result
  const readers =
    source === 'access-rule'
      ? ['admin:ManageAccessRules', 's3:GetBucketPolicy']
      : source === 'block-public'
        ? ['admin:ManageAccessRules', 's3:GetBucketPublicAccessBlock']
        : undefined
  if (readers === undefined || readers.some(action => isAllowed(action, bucket))) return result
  const reason = result.reason === 'public_access_blocked' ? 'access_denied' : result.reason
  return { ...result, source: 'policy', rule: '', reason }
}
