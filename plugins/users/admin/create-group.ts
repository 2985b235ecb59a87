import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { describeGroup, Group, groupMadeByServer, membersPerChangeMax } from './group-schema.ts'
import { Description, Name } from './user-schema.ts'

const CreateGroup = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: 128,
      pattern: '^[A-Za-z0-9._@+=-]*$',
      errorMessage: 'must be letters, digits and . _ @ + = -',
      description: 'Letters, digits and `. _ @ + = -`.',
    }),
    description: Type.Optional(Description),
    members: Type.Optional(Type.Array(Name, { maxItems: membersPerChangeMax })),
    ...groupMadeByServer,
  },
  { $id: 'CreateGroup' },
)

export default defineAdminOperation({
  id: 'createGroup',
  method: 'POST',
  path: '/groups',
  tag: 'groups',
  summary: 'Creates a group.',
  authorize: ['admin:CreateGroup'],
  authorizeRequest: ({ body: { members = [] } }) => ({
    actions: ['admin:CreateGroup', ...(members.length > 0 ? ['admin:AddUserToGroup'] : [])],
  }),
  body: CreateGroup,
  response: Group,
  location: ({ name }) => `/groups/${encodeURIComponent(name)}`,
  errors: ['already_exists', 'user_not_found'],
  uses: ['users'],
  handle: async ({ body }, { users }) => describeGroup(await users.createGroup(body)),
})
