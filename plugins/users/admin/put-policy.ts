import { checkField, defineAdminOperation, replyWith } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { describeNamedPolicy, NamedPolicy, PolicyParameters } from './named-policy-schema.ts'
import { PolicyText, policyBytesMax } from './policy-document-schema.ts'
import { ignored } from './user-schema.ts'

const PolicyReplacement = Type.Object(
  {
    document: PolicyText,
    name: ignored,
    builtIn: ignored,
    etag: ignored,
    updatedAt: ignored,
    attachedTo: ignored,
  },
  { $id: 'PolicyReplacement' },
)

export default defineAdminOperation({
  id: 'putPolicy',
  method: 'PUT',
  path: '/policies/{name}',
  tag: 'policies',
  summary: 'Creates (201) or replaces a named policy. It applies from the next request on.',
  authorize: ['admin:CreatePolicy'],
  params: PolicyParameters,
  body: PolicyReplacement,
  bodyBytesMax: policyBytesMax,
  response: NamedPolicy,
  etag: true,
  acceptsIfNoneMatch: true,
  errors: ['builtin_policy', 'malformed_policy', 'precondition_failed'],
  uses: ['users'],
  async handle({ params: { name }, body: { document }, ifMatch, ifNoneMatch }, { users }) {
    const put = () => users.putPolicy(name, document, { ifMatch, ifNoneMatch })
    const { policy, isNew } = await checkField('/name', put, ['invalid_argument'])
    return replyWith(describeNamedPolicy(policy), { status: isNew ? 201 : 200 })
  },
})
