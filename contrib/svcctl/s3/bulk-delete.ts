/** DeleteObjects: up to 1000 keys in one request, and the failed ones. */
import { hash } from 'node:crypto'
import { S3Error } from '../errors.ts'
import type { S3Client } from './client.ts'
import { childrenOf, escapeXml, readXml, textOf } from './xml.ts'

export const bulkDeleteMax = 1000

export interface Doomed {
  readonly key: string
  readonly versionId?: string
}

export interface DeleteFailure extends Doomed {
  readonly error: S3Error
}

/** At most `bulkDeleteMax`. Resolves with those that are still there. */
export async function deleteObjects(
  client: S3Client,
  bucket: string,
  doomed: readonly Doomed[],
  bypassGovernance: boolean,
): Promise<DeleteFailure[]> {
  const entries = doomed.map(({ key, versionId }) => {
    const version = versionId === undefined ? '' : `<VersionId>${escapeXml(versionId)}</VersionId>`
    return `<Object><Key>${escapeXml(key)}</Key>${version}</Object>`
  })
  const body = Buffer.from(`<Delete><Quiet>true</Quiet>${entries.join('')}</Delete>`)
  const answer = await client.send({
    operation: 'DeleteObjects',
    method: 'POST',
    bucket,
    query: { delete: '' },
    headers: {
      'content-type': 'application/xml',
      'content-md5': hash('md5', body, 'base64'),
      ...(bypassGovernance ? { 'x-amz-bypass-governance-retention': 'true' } : undefined),
    },
    body,
  })
  const requestId = answer.headers['x-amz-request-id']
  return childrenOf(readXml(answer.body, 'DeleteResult'), 'Error').map(node => {
    const key = textOf(node, 'Key') ?? ''
    const versionId = textOf(node, 'VersionId')
    const code = textOf(node, 'Code') ?? 'InternalError'
    const status = code === 'AccessDenied' ? 403 : code === 'PreconditionFailed' ? 412 : 500
    const message = textOf(node, 'Message') || 'The server gave no reason.'
    const operation = `DeleteObjects ${bucket}/${key}`
    return { key, versionId, error: new S3Error({ status, code, message, requestId, operation }) }
  })
}
