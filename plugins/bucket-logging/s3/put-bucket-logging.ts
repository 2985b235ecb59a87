import { keyBytesMax, objectErrors } from 'svc/plugins/objects/api'
import { childrenNamed, childText, defineS3Operation, s3Errors, type XmlNode } from 'svc/plugins/s3/api'
import { loggingErrors } from '../errors.ts'
import { account } from '../log-line.ts'
import { keyOfLog, type LoggingStatus } from '../logging-status.ts'

export default defineS3Operation({
  name: 'PutBucketLogging',
  summary:
    'Turns the access log of a bucket on, with the bucket that its objects go to; an empty document turns it off.',
  match: { method: 'PUT', level: 'bucket', query: ['logging'] },
  action: 's3:PutBucketLogging',
  body: {
    kind: 'xml',
    root: 'BucketLoggingStatus',
    elements: {
      LoggingEnabled: {
        TargetBucket: 'text',
        TargetPrefix: 'text',
        TargetGrants: 'anything',
        TargetObjectKeyFormat: { SimplePrefix: {}, PartitionedPrefix: { PartitionDateSource: 'text' } },
      },
    },
    maxBytes: 64 * 1024,
  },
  reply: { kind: 'empty', status: 200 },
  errors: [
    'AccessControlListNotSupported',
    'InvalidTargetBucketForLogging',
    'KeyTooLongError',
    'MalformedXML',
    'NoSuchBucket',
  ],
  uses: ['authSigv4', 'bucketLogging', 'objects', 'ports'],
  async handle(request, { authSigv4: { region }, bucketLogging: documents, objects, ports }) {
    const { bucket, xml } = request
    let status = readStatus(xml!)
    await objects.getBucket(bucket)
    if (status !== undefined) {
      const nowMs = ports.clock.now()
      const { random } = ports
      const key = keyOfLog({ status, account, region, source: bucket, eventMs: nowMs, deliveryMs: nowMs, random })
      if (Buffer.byteLength(key) > keyBytesMax) throw objectErrors.KeyTooLongError()
      // Who may not write there must not have the server write, nor learn whether the bucket exists.
      await request.prepareAccess(status.targetBucket)
      if (!request.isAllowed('s3:PutObject', status.targetBucket, key)) throw refusedTarget(status)
      try {
        const { createdMs } = await objects.getBucket(status.targetBucket)
        status = { ...status, targetCreatedMs: createdMs }
      } catch (error) {
        throw (error as { code?: unknown }).code === 'NoSuchBucket' ? refusedTarget(status) : error
      }
    }
    await documents.replace(bucket, status)
    return {}
  },
})

function refusedTarget({ targetBucket }: LoggingStatus) {
  const detail = `There is no bucket "${targetBucket}", or the caller may not write to it.`
  return loggingErrors.InvalidTargetBucketForLogging(detail, { extra: { TargetBucket: targetBucket } })
}

function readStatus(xml: XmlNode): LoggingStatus | undefined {
  const enabled = onlyChild(xml, 'LoggingEnabled')
  if (enabled === undefined) return undefined
  const targetBucket = childText(enabled, 'TargetBucket')
  const targetPrefix = childText(enabled, 'TargetPrefix')
  if (targetBucket === undefined || targetBucket === '' || targetPrefix === undefined) {
    throw s3Errors.MalformedXML('LoggingEnabled has a TargetBucket and a TargetPrefix.')
  }
  const grants = onlyChild(enabled, 'TargetGrants')
  if (grants !== undefined && grants.children.length > 0) throw s3Errors.AccessControlListNotSupported()
  const format = onlyChild(enabled, 'TargetObjectKeyFormat')
  return { targetBucket, targetPrefix, ...(format === undefined ? undefined : { keyFormat: readFormat(format) }) }
}

function readFormat(format: XmlNode): 'simple' | 'event-time' | 'delivery-time' {
  const [child] = format.children
  if (child === undefined || format.children.length > 1) {
    throw s3Errors.MalformedXML('TargetObjectKeyFormat has either SimplePrefix or PartitionedPrefix.')
  }
  if (child.name === 'SimplePrefix') return 'simple'
  const source = childText(child, 'PartitionDateSource') ?? 'DeliveryTime'
  if (source === 'EventTime') return 'event-time'
  if (source === 'DeliveryTime') return 'delivery-time'
  throw s3Errors.MalformedXML('PartitionDateSource is EventTime or DeliveryTime.')
}

function onlyChild(node: XmlNode, name: string): XmlNode | undefined {
  const [child, ...more] = childrenNamed(node, name)
  if (more.length > 0) throw s3Errors.MalformedXML(`${node.name} has more than one ${name}.`)
  return child
}
