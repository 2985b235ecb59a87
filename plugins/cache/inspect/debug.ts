/** Fields of answers for operators. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { CacheRequest, HeaderLine } from '../api.ts'
import { fieldOf } from '../engine/headers.ts'
import { keyOf } from '../engine/requests.ts'
import type { CacheConfiguration } from '../settings/configuration.ts'

const noLines: readonly HeaderLine[] = []
const digest = (text: string) => createHash('sha256').update(text).digest()

export function debugHeaders(
  request: CacheRequest,
  { settings: { nodeHeader, debug } }: CacheConfiguration,
  node: string,
): readonly HeaderLine[] {
  if (!nodeHeader && debug.secret === '') return noLines
  const lines: HeaderLine[] = nodeHeader ? [['X-Cache-Node', node]] : []
  if (debug.secret === '') return lines
  const given = fieldOf(request.headers, debug.header.toLowerCase())
  if (given === undefined || !timingSafeEqual(digest(given), digest(debug.secret))) return lines
  const { policyName, policyLevel, fields } = request.policy
  lines.push(['X-Cache-Key', keyOf(request).text.split('\n').map(encodeURIComponent).join(' ')])
  lines.push(['X-Cache-Policy', `${policyName}; level=${policyLevel}; ttl=${fields.get('ttl.default')}`])
  return lines
}
