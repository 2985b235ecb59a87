import { defineCommand } from '../command.ts'
import { S3Error } from '../errors.ts'
import { escapeXml } from '../s3/xml.ts'
import { formatRemote, requireBucketOnly } from '../target.ts'

interface Options {
  readonly region?: string
  readonly withVersioning?: boolean
  readonly withLock?: boolean
  readonly ignoreExisting?: boolean
}

export default defineCommand<Options>({
  name: 'mb',
  summary: 'Makes a bucket.',
  arguments: [{ name: 'target', summary: 'ALIAS/bucket', kind: 'target' }],
  options: [
    { flags: '--region <region>', summary: 'where it is to be' },
    { flags: '--with-versioning', summary: 'keep all versions of its objects' },
    { flags: '--with-lock', summary: 'object lock, and with it versioning' },
    { flags: '-p, --ignore-existing', summary: 'it is fine if the bucket is yours already' },
  ],
  examples: ['svcctl mb home/photos', 'svcctl mb home/records --with-lock'],
  async run({ connect, output, remote }, [text], options) {
    const target = remote(text!)
    const bucket = requireBucketOnly(target)
    const client = await connect(target.alias)
    const { region } = options
    const body =
      region === undefined || region === 'us-east-1'
        ? undefined
        : Buffer.from(
            `<CreateBucketConfiguration><LocationConstraint>${escapeXml(region)}</LocationConstraint></CreateBucketConfiguration>`,
          )
    let status = 'created'
    try {
      const headers = options.withLock ? { 'x-amz-bucket-object-lock-enabled': 'true' } : undefined
      await client.send({ operation: 'CreateBucket', method: 'PUT', bucket, headers, body })
    } catch (error) {
      const isOurs = error instanceof S3Error && error.code === 'BucketAlreadyOwnedByYou'
      if (!isOurs || !options.ignoreExisting) throw error
      status = 'existed'
    }
    if (options.withVersioning && !options.withLock) {
      await client.send({
        operation: 'PutBucketVersioning',
        method: 'PUT',
        bucket,
        query: { versioning: '' },
        headers: { 'content-type': 'application/xml' },
        body: Buffer.from('<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>'),
      })
    }
    const name = formatRemote(target)
    output.done({ status, bucket: name }, status === 'created' ? `Made ${name}.` : `${name} is there already.`)
  },
})
