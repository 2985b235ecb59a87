/** Links for people without credentials, signed here. */
import type { Context } from './context.ts'
import { usageError } from './errors.ts'
import { isoTime } from './formatting.ts'
import { formatRemote, requireBucket, requireKey } from './target.ts'

export interface PresignOptions {
  readonly method: string
  readonly expire: number
  readonly versionId?: string
  readonly header?: readonly (readonly [string, string])[]
}

export async function presigned(context: Context, text: string, options: PresignOptions) {
  const target = context.remote(text)
  const bucket = requireBucket(target)
  const key = requireKey(target)
  const { method, expire, versionId, header = [] } = options
  const client = await context.connect(target.alias)
  const headers = Object.fromEntries(header.map(([name, value]) => [name.toLowerCase(), value]))
  let url: string
  try {
    const query: Record<string, string> = versionId === undefined ? {} : { versionId }
    url = client.presign({ operation: 'presign', method, bucket, key, query, headers }, expire)
  } catch (error) {
    if (error instanceof RangeError) throw usageError(`${error.message}.`)
    throw error
  }
  const expires = isoTime(Date.now() + expire * 1000)
  return { url, record: { target: formatRemote(target), method, url, headers, expires } }
}
