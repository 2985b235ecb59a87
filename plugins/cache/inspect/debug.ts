/** Fields of answers that are meant for operators. */
import { createHash, timingSafeEqual } from 'node:crypto'
import { headerSecretCharactersMin, type SecretReferencesService } from 'svc/plugins/secret-references/api'
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
  resolve: SecretReferencesService['resolve'],
): readonly HeaderLine[] {
  if (!nodeHeader && debug.secret === '') return noLines
  const lines: HeaderLine[] = nodeHeader ? [['X-Cache-Node', node]] : []
  if (debug.secret === '') return lines
  const given = fieldOf(request.headers, debug.header.toLowerCase())
  // Without a secret of sufficient length on this node no request gets these headers.
  const secret = resolve(debug.secret)
  if (given === undefined || secret === undefined || secret.length < headerSecretCharactersMin) return lines
  if (!timingSafeEqual(digest(given), digest(secret))) return lines
  const { policyName, policyLevel, fields } = request.policy
  lines.push(['X-Cache-Key', keyOf(request).text.split('\n').map(encodeURIComponent).join(' ')])
  lines.push(['X-Cache-Policy', `${policyName}; level=${policyLevel}; ttl=${fields.get('ttl.default')}`])
  return lines
}
