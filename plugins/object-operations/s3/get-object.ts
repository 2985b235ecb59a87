import { defineS3Operation, shownVersionId } from 'svc/plugins/s3/api'
import { planRead } from '../read-answer.ts'

export default defineS3Operation({
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
  uses: ['objects'],
  async handle(request, { objects }) {
    const { bucket, key, query } = request
    // Small objects are in memory mostly: where nothing has to be waited for, nothing is.
    const found = objects.getObject(bucket, key, query.get('versionId'))
    const version = found instanceof Promise ? await found : found
    const shown = shownVersionId(request, objects, version.versionId)
    const shownId = shown instanceof Promise ? await shown : shown
    const { status, start, length, headers } = planRead(request, version, shownId)
    if (status === 304) return { status, headers }
    const customerKey = version.encryption === undefined ? undefined : request.customerKey('object')
    const read = objects.read(version, start, length, customerKey)
    const data = read instanceof Promise ? await read : read
    return { status, headers, data, sizeBytes: length }
  },
})
