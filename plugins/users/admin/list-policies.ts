import { decodeCursor, defineAdminOperation, encodeCursor, pageOf, pageParameters } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { describeNamedPolicy, NamedPolicy } from './named-policy-schema.ts'

export default defineAdminOperation({
  id: 'listPolicies',
  method: 'GET',
  path: '/policies',
  tag: 'policies',
  summary: 'Lists named policies by name, including built-in ones.',
  authorize: ['admin:ListUserPolicies'],
  query: Type.Object({
    prefix: Type.String({ default: '', maxLength: 128 }),
    attachedTo: Type.Boolean({
      default: false,
      description: 'Also who has each, for callers who may read all policies (admin:GetPolicy).',
    }),
    ...pageParameters,
  }),
  response: pageOf(NamedPolicy),
  uses: ['users'],
  async handle(request, { users }) {
    const { cursor, attachedTo, ...wanted } = request.query
    const { items, next } = await users.listPolicies({ ...wanted, startAfter: decodeCursor(cursor) })
    const attached =
      attachedTo && request.isAllowed('admin:GetPolicy')
        ? await users.attachments(items.map(({ name }) => name))
        : undefined
    return {
      items: items.map(policy => describeNamedPolicy(policy, attached?.get(policy.name))),
      nextCursor: encodeCursor(next),
    }
  },
})
