import {
  type AdminRequest,
  BucketParameters,
  type ConditionFacts,
  ObjectKey,
  readObjectParameters,
} from 'svc/plugins/admin/api'
import { ExistingTags, type ObjectsService } from 'svc/plugins/objects/api'
import { encryptionInHeaders } from 'svc/plugins/s3/api'
import { Type } from 'typebox'

export const UploadParameters = Type.Object({
  ...BucketParameters.properties,
  uploadId: Type.String({ minLength: 1, maxLength: 256 }),
})

export const UploadQuery = Type.Object({ key: ObjectKey })

type UploadRequest = Pick<
  AdminRequest<{ bucket: string; uploadId: string }, { key: string }>,
  'params' | 'query' | 'normalizeKey'
>

/** The upload that the request names. Throws KeyTooLongError. */
export function readUploadParameters(request: UploadRequest) {
  const { bucket, key } = readObjectParameters(request)
  return { bucket, key, uploadId: request.params.uploadId }
}

/**
 * Authorizes a write to an upload: its tags and its encryption were set when it was begun, and policies evaluate these again, as over S3.
 * `orObject`: see `ExistingTags.fetchUpload`.
 */
export async function authorizeWrite(
  request: UploadRequest & Pick<AdminRequest, 'authorize'>,
  objects: Pick<ObjectsService, 'getUpload' | 'getObject'>,
  { actions, createsObject }: { readonly actions: readonly string[]; readonly createsObject: boolean },
): Promise<void> {
  const { bucket, key, uploadId } = readUploadParameters(request)
  const begun = new ExistingTags(objects)
  await begun.fetchUpload(objects, { bucket, key, uploadId, orObject: createsObject })
  const encryption = begun.encryptionOfUpload(bucket, key, uploadId)
  const facts = {
    createsObject,
    requestTags: () => begun.ofUpload(bucket, key, uploadId),
    encryption: () => encryption && encryptionInHeaders(encryption),
  }
  await request.authorize(actions, { bucket, key, facts })
}

/** For `authorizeRequest`: the action on the upload's key. */
export function requireOnKey(action: string, facts?: ConditionFacts) {
  return (request: UploadRequest) => {
    const { bucket, key } = readObjectParameters(request)
    return { actions: [action], bucket, key, facts }
  }
}
