import {
  type AdminRequest,
  BucketParameters,
  type ConditionFacts,
  ObjectKey,
  readObjectParameters,
} from 'svc/plugins/admin/api'
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

/** For `authorizeRequest`: the action on the upload's key. */
export function requireOnKey(action: string, facts?: ConditionFacts) {
  return (request: UploadRequest) => {
    const { bucket, key } = readObjectParameters(request)
    return { actions: [action], bucket, key, facts }
  }
}
