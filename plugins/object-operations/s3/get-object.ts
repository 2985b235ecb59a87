import type { MaybePromise } from 'svc/kernel'
import type { ObjectsService, ObjectVersion } from 'svc/plugins/objects/api'
import { defineS3Operation, type S3Request, type S3Result, shownVersionId } from 'svc/plugins/s3/api'
import { planRead } from '../read-answer.ts'

export default defineS3Operation<'objects'>({
  name: 'GetObject',
  summary: 'Returns an object, a range of it, or one of its parts.',
  match: { method: 'GET', level: 'object' },
  action: 's3:GetObject',
  versionedAction: 's3:GetObjectVersion',
  parameters: ['partNumber'],
  body: { kind: 'none' },
  reply: { kind: 'data' },
  statuses: [206, 304],
  errors: [
    'InvalidArgument',
    'InvalidPartNumber',
    'InvalidRange',
    'InvalidRequest',
    'MethodNotAllowed',
    'NoSuchBucket',
    'NoSuchKey',
    'NoSuchVersion',
    'PreconditionFailed',
  ],
  handle(request, { objects }) {
    const version = objects.getObject(request.bucket, request.key, request.query.get('versionId'))
    return version instanceof Promise
      ? version.then(found => respond(request, objects, found))
      : respond(request, objects, version)
  },
})

/** Without a promise where the bytes are at hand: a small object is answered in the turn in which it was asked for. */
function respond(request: S3Request, objects: ObjectsService, version: ObjectVersion): MaybePromise<S3Result> {
  const shownId = shownVersionId(request, objects, version.versionId)
  return shownId instanceof Promise
    ? shownId.then(id => answerWith(request, objects, version, id))
    : answerWith(request, objects, version, shownId)
}

function answerWith(
  request: S3Request,
  objects: ObjectsService,
  version: ObjectVersion,
  shownId: string | undefined,
): MaybePromise<S3Result> {
  const { status, start, length, headers } = planRead(request, version, shownId)
  if (status === 304) return { status, headers }
  const key = version.encryption === undefined ? undefined : request.customerKey('object')
  const data = objects.read(version, start, length, key)
  return data instanceof Promise
    ? data.then(read => ({ status, headers, data: read, sizeBytes: length }))
    : { status, headers, data, sizeBytes: length }
}
