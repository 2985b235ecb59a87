import { type Bucket, objectErrors } from 'svc/plugins/objects/api'
import { defineS3Operation, isoTime, type S3Request } from 'svc/plugins/s3/api'

const pageMax = 10_000

export default defineS3Operation({
  name: 'ListBuckets',
  summary: 'Lists the buckets that the caller may list, all at once unless `max-buckets` is given.',
  match: { method: 'GET', level: 'service' },
  action: 's3:ListAllMyBuckets',
  authorization: 'items',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'ListAllMyBucketsResult' },
  errors: ['InvalidArgument'],
  uses: ['objects', 'iam', 'authSigv4'],
  async handle(request, { objects, iam, authSigv4 }) {
    const { query } = request
    const limit = readLimit(query.get('max-buckets'))
    const prefix = query.get('prefix') ?? ''
    const regionWanted = query.get('bucket-region')
    const mayListAll = request.isAllowed('s3:ListAllMyBuckets', '', '')
    const found: Bucket[] = []
    let startAfter: string | undefined = readToken(query.get('continuation-token'))
    // A bucket that is skipped does not count: go on until the page is full or there are no more.
    while (startAfter !== undefined) {
      const page: { buckets: readonly Bucket[]; next: string | undefined } = await objects.listBuckets({
        prefix,
        startAfter,
        limit: Math.min(limit - found.length, pageMax),
      })
      // Policies of the buckets may say who lists them, and may just have changed in another thread.
      if (!mayListAll) await Promise.all(page.buckets.map(({ name }) => request.prepareAccess(name)))
      for (const bucket of page.buckets) {
        if (regionWanted !== undefined && regionWanted !== bucket.region) continue
        if (mayListAll || request.isAllowed('s3:ListBucket', bucket.name, '')) found.push(bucket)
      }
      startAfter = page.next
      if (found.length >= limit) break
    }
    const { owner } = iam
    return {
      xml: {
        Owner: { ID: owner.ownerId, DisplayName: owner.displayName },
        Buckets: { Bucket: found.map(bucket => describe(bucket, authSigv4.region)) },
        ...paging(request, limit, startAfter),
      },
    }
  },
})

function describe(bucket: Bucket, region: string) {
  return { Name: bucket.name, CreationDate: isoTime(bucket.createdMs), BucketRegion: bucket.region || region }
}

function paging({ query }: S3Request, limit: number, next: string | undefined) {
  const prefix = query.get('prefix')
  return {
    Prefix: prefix,
    ContinuationToken:
      next !== undefined && limit !== Number.POSITIVE_INFINITY ? Buffer.from(next).toString('base64url') : undefined,
  }
}

function readLimit(text: string | undefined): number {
  if (text === undefined) return Number.POSITIVE_INFINITY
  const limit = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > pageMax) {
    throw objectErrors.InvalidArgument(`Argument max-buckets must be an integer between 1 and ${pageMax}`, {
      extra: { ArgumentName: 'max-buckets', ArgumentValue: text },
    })
  }
  return limit
}

function readToken(token: string | undefined): string {
  if (token === undefined) return ''
  const name = Buffer.from(token, 'base64url').toString('latin1')
  if (!/^[a-z0-9.-]{3,63}$/.test(name)) {
    throw objectErrors.InvalidArgument('The continuation token provided is incorrect', {
      extra: { ArgumentName: 'continuation-token', ArgumentValue: token },
    })
  }
  return name
}
