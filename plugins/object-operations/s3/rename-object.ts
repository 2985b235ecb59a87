import { isCatalogError } from 'svc/kernel'
import { type ObjectsService, type ObjectVersion, objectErrors } from 'svc/plugins/objects/api'
import {
  allowedRenameConditions,
  defineS3Operation,
  readRenameSource,
  type S3Request,
  s3Errors,
} from 'svc/plugins/s3/api'
import { requireTagCopy } from '../tag-copy.ts'

const tokenForm = /^[\x21-\x7e]{1,64}$/

export default defineS3Operation({
  name: 'RenameObject',
  summary: 'Gives an object another key in its bucket, and replaces an object there; no bytes are moved.',
  match: { method: 'PUT', level: 'object', query: ['renameObject'] },
  action: 's3:PutObject',
  body: { kind: 'none' },
  reply: { kind: 'empty', status: 200 },
  errors: [
    'AccessDenied',
    'IdempotencyParameterMismatch',
    'InvalidArgument',
    'InvalidBucketState',
    'InvalidRequest',
    'KeyTooLongError',
    'NoSuchBucket',
    'NoSuchKey',
    'NotImplemented',
    'PreconditionFailed',
  ],
  uses: ['objects'],
  async handle(request, { objects }) {
    const { bucket, key, origin } = request
    const sourceKey = readRenameSource(request)
    for (const action of ['s3:GetObject', 's3:DeleteObject']) {
      if (!request.isAllowed(action, bucket, sourceKey)) throw s3Errors.AccessDenied()
    }
    requireNames(sourceKey, key)
    const clientToken = readToken(request)
    const conditions = allowedRenameConditions(request, '')
    const sourceConditions = allowedRenameConditions(request, 'x-amz-rename-source-')
    const source = await findSource(objects, bucket, sourceKey, clientToken !== undefined)
    if (source?.tags !== undefined) requireTagCopy(request, { bucket, key: sourceKey, versionId: undefined })
    if (source !== undefined && !request.mayCarryTags(source)) throw s3Errors.AccessDenied()
    await objects.renameObject({ bucket, key, sourceKey, source, conditions, sourceConditions, clientToken, origin })
    return {}
  },
})

/** Source: AWS S3 User Guide, "Renaming objects in directory buckets". */
function requireNames(sourceKey: string, key: string): void {
  if (sourceKey.endsWith('/') || key.endsWith('/')) {
    throw objectErrors.InvalidRequest(
      'Objects whose keys end with a slash cannot be renamed, and no object can be renamed to such a key.',
    )
  }
  if (sourceKey === key)
    throw objectErrors.InvalidRequest('The source and the destination of a rename are the same key.')
}

function readToken({ headers }: S3Request): string | undefined {
  const token = headers['x-amz-client-token'] as string | undefined
  if (token === undefined || tokenForm.test(token)) return token
  throw objectErrors.InvalidArgument('A client token has 1 to 64 visible ASCII characters.', {
    extra: { ArgumentName: 'x-amz-client-token', ArgumentValue: token },
  })
}

/** With a token the source may be missing: an earlier request with the token has renamed it. */
async function findSource(
  objects: ObjectsService,
  bucket: string,
  key: string,
  isRepeatable: boolean,
): Promise<ObjectVersion | undefined> {
  try {
    return await objects.getObject(bucket, key)
  } catch (error) {
    if (isRepeatable && isCatalogError(error) && error.code === 'NoSuchKey') return undefined
    throw error
  }
}
