import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { SecretKey } from './secret-schema.ts'
import { AccessKeyName, Description, describeUser, madeByServer, Names, Status, User } from './user-schema.ts'

const CreateUser = Type.Object(
  {
    accessKey: AccessKeyName,
    secretKey: Type.Optional(SecretKey),
    status: Type.Optional(Status),
    description: Type.Optional(Description),
    groups: Type.Optional(Names),
    policyNames: Type.Optional(Names),
    ...madeByServer,
  },
  { $id: 'CreateUser' },
)

const CreatedUser = Type.Object(
  {
    ...User.properties,
    secretKey: Type.Optional(Type.String({ description: 'Only if the server generated it. Shown only once.' })),
  },
  { $id: 'CreatedUser' },
)

export default defineAdminOperation({
  id: 'createUser',
  method: 'POST',
  path: '/users',
  tag: 'users',
  summary: 'Creates a user. Without a secret key one is generated, which only this answer contains.',
  authorize: ['admin:CreateUser'],
  authorizeRequest: ({ body: { groups = [], policyNames = [] } }) => ({
    actions: [
      'admin:CreateUser',
      ...(groups.length > 0 ? ['admin:AddUserToGroup'] : []),
      ...(policyNames.length > 0 ? ['admin:AttachUserOrGroupPolicy'] : []),
    ],
  }),
  body: CreateUser,
  response: CreatedUser,
  location: ({ accessKey }) => `/users/${encodeURIComponent(accessKey)}`,
  errors: ['already_exists', 'group_not_found', 'policy_not_found'],
  uses: ['users'],
  async handle({ body }, { users }) {
    const { user, secretKey } = await users.createUser(body)
    return { ...describeUser(user), ...(secretKey === undefined ? {} : { secretKey }) }
  },
})
