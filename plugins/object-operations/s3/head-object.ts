import { defineS3Operation, shownVersionId } from 'svc/plugins/s3/api'
import { planRead } from '../read-answer.ts'

export default defineS3Operation({
  name: 'HeadObject',
  summary: 'Returns the headers of GetObject, without the bytes.',
  match: { method: 'HEAD', level: 'object' },
  action: 's3:GetObject',
  versionedAction: 's3:GetObjectVersion',
  parameters: ['partNumber'],
  body: { kind: 'none' },
  reply: { kind: 'empty', status: 200 },
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
    const version = await objects.getObject(request.bucket, request.key, request.query.get('versionId'))
    const shownId = await shownVersionId(request, objects, version.versionId)
    const { status, length, headers } = planRead(request, version, shownId)
    return { status, headers, sizeBytes: length }
  },
})
