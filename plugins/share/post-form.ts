/** The fields of a form for PostObject, and the policy that signs them. Source: AWS "POST policy". */
import { signPolicy } from 'svc/plugins/auth-sigv4/api'
import type { PostPolicyRequest } from './admin/create-post-policy.ts'
import type { OwnSigner } from './links.ts'

type Condition = readonly (string | number)[] | Readonly<Record<string, string>>

const fileNameVariable = '$' + '{filename}'

export interface WantedForm extends PostPolicyRequest {
  /** In the form of stored keys. */
  readonly fixedKey: string | undefined
  readonly prefix: string
}

/** Every field that the policy fixes; the browser adds `file`, last, and where it may choose, `Content-Type` before it. */
export function createPostForm(
  wanted: WantedForm,
  signer: OwnSigner,
  times: { readonly nowMs: number; readonly expiresMs: number },
): Record<string, string> {
  const { bucket, fixedKey, prefix, contentLengthRange, contentTypePrefix } = wanted
  const fixed = fixedFields(wanted)
  const { policy: _, 'x-amz-signature': __, ...signing } = signPolicy(signer, '', times.nowMs)
  if (signer.sessionToken !== undefined) signing['x-amz-security-token'] = signer.sessionToken
  const conditions: Condition[] = [
    { bucket },
    fixedKey === undefined ? ['starts-with', '$key', prefix] : { key: fixedKey },
    ...Object.entries({ ...fixed, ...signing }).map(([name, value]) => ({ [name]: value })),
  ]
  if (contentLengthRange !== undefined) {
    conditions.push(['content-length-range', contentLengthRange.min, contentLengthRange.max])
  }
  if (fixed['Content-Type'] === undefined) conditions.push(['starts-with', '$Content-Type', contentTypePrefix ?? ''])
  const policy = JSON.stringify({ expiration: new Date(times.expiresMs).toISOString(), conditions })
  return {
    key: fixedKey ?? `${prefix}${fileNameVariable}`,
    ...fixed,
    ...(signer.sessionToken === undefined ? {} : { 'x-amz-security-token': signer.sessionToken }),
    ...signPolicy(signer, policy, times.nowMs),
  }
}

function fixedFields(wanted: WantedForm): Record<string, string> {
  const { contentType, metadata = {}, tags, storageClass, successActionStatus, successActionRedirect } = wanted
  const fields: Record<string, string> = {}
  if (contentType !== undefined) fields['Content-Type'] = contentType
  for (const [name, value] of Object.entries(metadata)) fields[`x-amz-meta-${name.toLowerCase()}`] = value
  if (tags !== undefined) fields.tagging = taggingDocument(tags)
  if (storageClass !== undefined) fields['x-amz-storage-class'] = storageClass
  if (successActionRedirect !== undefined) fields.success_action_redirect = successActionRedirect
  fields.success_action_status = String(successActionStatus)
  return fields
}

function taggingDocument(tags: Readonly<Record<string, string>>): string {
  const elements = Object.entries(tags).map(
    ([key, value]) => `<Tag><Key>${escapeXml(key)}</Key><Value>${escapeXml(value)}</Value></Tag>`,
  )
  return `<Tagging><TagSet>${elements.join('')}</TagSet></Tagging>`
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

function escapeXml(text: string): string {
  return text.replace(/[&<>]/g, character => entities[character]!)
}
