import { ObjectKey, VersionId } from 'svc/plugins/admin/api'
import { Type } from 'typebox'

export const BulkDelete = Type.Object(
  {
    objects: Type.Array(
      Type.Object({
        key: ObjectKey,
        versionId: Type.Optional(VersionId),
        etag: Type.Optional(
          Type.String({
            maxLength: 256,
            description:
              'As it is listed: it is not deleted where it has another one by now. For callers who may read it.',
          }),
        ),
      }),
      { default: [], maxItems: 1000 },
    ),
    prefixes: Type.Array(Type.String({ minLength: 1, maxLength: 1024 }), {
      default: [],
      maxItems: 100,
      description: 'Folders, with everything below them; a missing slash at the end is added.',
    }),
    allVersions: Type.Boolean({
      default: false,
      description: 'Deletes all versions and delete markers under the prefixes, and of objects without a version id.',
    }),
    bypassGovernance: Type.Boolean({
      default: false,
      description: 'Also deletes versions under retention in GOVERNANCE mode; needs `s3:BypassGovernanceRetention`.',
    }),
  },
  { $id: 'BulkDelete' },
)

export const BulkDeleteResult = Type.Object(
  {
    deleted: Type.Array(
      Type.Object({
        key: Type.String(),
        versionId: Type.Optional(Type.String({ description: 'The version id of the request.' })),
        deleteMarker: Type.Boolean({ description: 'True if a delete marker was created or deleted.' }),
        deleteMarkerVersionId: Type.Optional(Type.String()),
      }),
    ),
    errors: Type.Array(
      Type.Object({
        key: Type.String(),
        versionId: Type.Optional(Type.String()),
        code: Type.Union([
          Type.Literal('access_denied'),
          Type.Literal('object_locked'),
          Type.Literal('object_not_found'),
          Type.Literal('precondition_failed'),
          Type.Literal('version_not_found'),
          Type.Literal('internal_error'),
        ]),
        message: Type.String(),
      }),
    ),
    isTruncated: Type.Boolean({
      description: 'True if there are more objects under the prefixes than one request deletes: send it again.',
    }),
  },
  { $id: 'BulkDeleteResult' },
)
