import { defineCommand } from '../command.ts'
import type { Context } from '../context.ts'
import { usageError } from '../errors.ts'
import { formatBytes, formatTime, isoTime } from '../formatting.ts'
import type { S3Client } from '../s3/client.ts'
import { copiedHeaders, headObject, type ObjectName } from '../s3/object.ts'
import { readXml, textOf } from '../s3/xml.ts'
import { formatRemote, type RemoteTarget, requireBucket } from '../target.ts'
import { customerKeyOption, encryptionOf } from '../transfer/encryption.ts'

interface Options {
  readonly versionId?: string
  readonly sseC?: string
}

export default defineCommand<Options>({
  name: 'stat',
  summary: 'Shows the properties of an object or a bucket.',
  arguments: [{ name: 'target', summary: 'ALIAS/bucket or ALIAS/bucket/key', kind: 'target' }],
  options: [{ flags: '--version-id <id>', summary: 'of this version' }, customerKeyOption],
  examples: [
    'svcctl stat home/photos/a.jpg',
    'svcctl stat --json home/photos',
    'svcctl stat --sse-c key.b64 home/private/letter.txt',
  ],
  async run(context, [text], { versionId, sseC }) {
    const target = context.remote(text!)
    requireBucket(target)
    const client = await context.connect(target.alias)
    if (target.key === '') {
      if (sseC !== undefined) throw usageError(`--sse-c goes with an object, and ${formatRemote(target)} is a bucket.`)
      return showBucket(context, client, target)
    }
    const customerKey = encryptionOf(context, { sseC }).readKey
    await showObject(context, target, client, { bucket: target.bucket, key: target.key, versionId, customerKey })
  },
})

const rows = (pairs: readonly (readonly [string, string | undefined])[]): string[] =>
  pairs.filter(([, value]) => value).map(([name, value]) => `${name.padEnd(14)} ${value}`)

async function showBucket({ output }: Context, client: S3Client, target: RemoteTarget): Promise<void> {
  const { bucket } = target
  const { headers } = await client.send({ operation: 'HeadBucket', method: 'HEAD', bucket })
  const region = headers['x-amz-bucket-region']
  const answer = await client.send({
    operation: 'GetBucketVersioning',
    method: 'GET',
    bucket,
    query: { versioning: '' },
  })
  const versioning = (textOf(readXml(answer.body, 'VersioningConfiguration'), 'Status') ?? 'off').toLowerCase()
  const name = formatRemote(target)
  output.result(
    { type: 'bucket', target: name, region, versioning },
    ...rows([
      ['Bucket', name],
      ['Region', region],
      ['Versioning', versioning],
    ]),
  )
}

const lockHeaders = ['mode', 'retain-until-date', 'legal-hold'].map(name => `x-amz-object-lock-${name}`)

async function showObject({ output }: Context, target: RemoteTarget, client: S3Client, object: ObjectName) {
  const { key } = object
  const facts = await headObject(client, object)
  const stored = copiedHeaders(facts.headers)
  const metadata = Object.fromEntries(
    Object.entries(stored).flatMap(([name, value]) =>
      name.startsWith('x-amz-meta-') ? [[name.slice(11), value]] : [],
    ),
  )
  const checksums = Object.fromEntries(
    Array.from(facts.checksums, ([name, digest]) => [name, digest.toString('base64')]),
  )
  const lock = Object.fromEntries(
    lockHeaders.flatMap(name => (facts.headers[name] === undefined ? [] : [[name.slice(18), facts.headers[name]]])),
  )
  const name = formatRemote(target)
  const customerAlgorithm = facts.headers['x-amz-server-side-encryption-customer-algorithm']
  const encryption = facts.headers['x-amz-server-side-encryption'] ?? customerAlgorithm
  const kmsKeyId = facts.headers['x-amz-server-side-encryption-aws-kms-key-id']
  const { etag, sizeBytes, modifiedMs } = facts
  output.result(
    {
      type: 'object',
      target: name,
      key,
      size: sizeBytes,
      etag,
      modified: isoTime(modifiedMs),
      versionId: facts.versionId,
      contentType: stored['content-type'],
      cacheControl: stored['cache-control'],
      contentEncoding: stored['content-encoding'],
      contentDisposition: stored['content-disposition'],
      storageClass: facts.headers['x-amz-storage-class'] ?? 'STANDARD',
      ...(encryption === undefined
        ? undefined
        : {
            encryption: {
              algorithm: encryption,
              kmsKeyId,
              ...(customerAlgorithm === undefined ? undefined : { isCustomerKey: true }),
            },
          }),
      metadata,
      checksums,
      lock,
    },
    ...rows([
      ['Object', name],
      ['Size', `${formatBytes(sizeBytes)} (${sizeBytes})`],
      ['Modified', formatTime(modifiedMs)],
      ['ETag', etag],
      ['Version', facts.versionId],
      ['Content-Type', stored['content-type']],
      ['Cache-Control', stored['cache-control']],
      ['Storage class', facts.headers['x-amz-storage-class']],
      [
        'Encryption',
        encryption &&
          [encryption, customerAlgorithm ? 'of the client (SSE-C)' : kmsKeyId].filter(Boolean).join(', key '),
      ],
      ...Object.entries(checksums),
      ...Object.entries(metadata).map(([label, value]) => [`Metadata ${label}`, value] as const),
      ...Object.entries(lock).map(([label, value]) => [`Lock ${label}`, value] as const),
    ]),
  )
}
