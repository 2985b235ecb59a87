import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import type {} from '../api.ts'
import { editorOf } from '../editor.ts'
import { manage } from '../errors.ts'
import { describeKey, GroupParameters, KeyAlgorithm, KeyGroupKey, KeyName, PublicKey } from './key-group-schema.ts'

const AddKey = Type.Object(
  {
    publicKey: Type.Optional(PublicKey),
    generate: Type.Boolean({ default: false, description: 'Instead of `publicKey`: the server makes a pair.' }),
    algorithm: Type.Optional(
      Type.Enum([...KeyAlgorithm.enum], { description: 'Of a pair that is made; `ed25519` where it is not given.' }),
    ),
    name: Type.Optional(KeyName),
    storePrivateKey: Type.Boolean({
      default: true,
      description: 'Of a pair that is made: the server keeps the private key, sealed, to sign with it.',
    }),
  },
  { $id: 'AddKey' },
)

const AddedKey = Type.Object(
  {
    ...KeyGroupKey.properties,
    privateKey: Type.Optional(Type.String({ description: 'PEM of a pair that was made. Shown this once.' })),
  },
  { $id: 'AddedKey' },
)

export default defineAdminOperation({
  id: 'addKeyGroupKey',
  method: 'POST',
  path: '/keygroups/{id}/keys',
  tag: 'distributions',
  summary:
    'Adds a public key to a key group, or makes a pair. The private key of a pair is shown in this answer only, whether the server keeps it or not.',
  authorize: [manage],
  params: GroupParameters,
  body: AddKey,
  response: AddedKey,
  location: ({ id: keyId }, { id }) => `/keygroups/${encodeURIComponent(id)}/keys/${keyId}`,
  errors: ['already_exists', 'invalid_key_group', 'key_group_not_found'],
  uses: ['keyGroups'],
  async handle(request, { keyGroups }) {
    const { params, body } = request
    const { key, privateKey } = await keyGroups.addKey(params.id, body, { editor: editorOf(request) })
    return { ...describeKey(key), ...(privateKey !== undefined && { privateKey }) }
  },
})
