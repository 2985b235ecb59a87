import { Type } from 'typebox'

/** The result of an import of the configuration, or of an archive of the cluster. */
export const ImportResult = Type.Object(
  {
    mode: Type.Union([Type.Literal('merge'), Type.Literal('replace')]),
    dryRun: Type.Boolean(),
    users: Type.Integer({ description: 'Number in the file, like the other counts.' }),
    groups: Type.Integer(),
    policies: Type.Integer(),
    configSubsystems: Type.Integer(),
    buckets: Type.Integer(),
    bucketsCreated: Type.Array(Type.String()),
    changed: Type.Optional(
      Type.Array(Type.String(), {
        description: 'New or changed documents of an archive: `user/ann`, `bucket/photos`.',
      }),
    ),
    removed: Type.Array(Type.String(), { description: 'With `replace`: names that are not in the file.' }),
  },
  { $id: 'ImportResult' },
)
