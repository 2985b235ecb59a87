import { Type } from 'typebox'

/** Of an import of the configuration, and of an archive of the cluster. */
export const ImportResult = Type.Object(
  {
    mode: Type.Union([Type.Literal('merge'), Type.Literal('replace')]),
    dryRun: Type.Boolean(),
    users: Type.Integer({ description: 'As the other counts: of the file.' }),
    groups: Type.Integer(),
    policies: Type.Integer(),
    configSubsystems: Type.Integer(),
    buckets: Type.Integer(),
    bucketsCreated: Type.Array(Type.String()),
    changed: Type.Optional(
      Type.Array(Type.String(), {
        description: 'What is new or different, of an archive: `user/ann`, `bucket/photos`.',
      }),
    ),
    removed: Type.Array(Type.String(), { description: 'What the file does not have, with `replace`.' }),
  },
  { $id: 'ImportResult' },
)
