/** Shared by the commands of `access`. */
import type { AdminAnswer, AdminClient } from './admin/client.ts'
import { parseJson, readDocument } from './admin/values.ts'
import type { Context } from './context.ts'
import { encodeName } from './s3/client.ts'
import { requireBucketOnly } from './target.ts'

export interface RulesDocument {
  readonly bucket: string
  readonly rules: readonly object[]
  readonly etag: string
  readonly public: boolean
  readonly blockPublic: boolean
  readonly warnings: readonly string[]
}

/** The Admin API of a bucket's server, and the path of its rules. */
export async function openBucket(
  context: Context,
  text: string,
): Promise<{ readonly client: AdminClient; readonly path: string; readonly bucket: string }> {
  const target = context.remote(text)
  const bucket = requireBucketOnly(target)
  return { client: await context.connectAdmin(target.alias), path: `/buckets/${encodeName(bucket)}`, bucket }
}

/** A list of rules, or a document as `access get` prints it. `etag`: that of the rules which the document was, if it was of this bucket. */
export async function readRules(
  context: Context,
  file: string,
  bucket: string,
): Promise<{ readonly body: unknown; readonly etag: string | undefined }> {
  const given = parseJson(await readDocument(context, file), file)
  if (Array.isArray(given)) return { body: { rules: given }, etag: undefined }
  const { etag, bucket: from = bucket } = (given ?? {}) as { readonly etag?: unknown; readonly bucket?: unknown }
  return { body: given, etag: from === bucket && typeof etag === 'string' && etag !== '' ? etag : undefined }
}

/** Shows the stored rules and the warnings. */
export function tellStored({ output }: Context, { body }: Pick<AdminAnswer, 'body'>): void {
  const document = body as RulesDocument
  const { bucket, rules, etag, warnings } = document
  output.done({ ...document }, `${bucket} has ${countOf(rules)}; ETag ${etag}.`)
  for (const warning of warnings) output.note(warning)
}

/** Shows rules that were only checked, and their warnings. */
export function tellValid({ output }: Context, { body }: Pick<AdminAnswer, 'body'>): void {
  const document = body as RulesDocument
  const { bucket, rules, warnings } = document
  output.done({ ...document, status: 'valid' }, `${bucket} could have these ${countOf(rules)}; nothing was stored.`)
  for (const warning of warnings) output.note(warning)
}

function countOf(rules: readonly object[]): string {
  return rules.length === 1 ? '1 access rule' : `${rules.length} access rules`
}

export const ifMatchOption = {
  flags: '--if-match <etag>',
  summary: 'change the rules only if they still have this ETag',
} as const
