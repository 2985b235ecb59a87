/** A folder with a certificate and its key, as the listeners read it. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from 'svc/testing'
import type { Test } from 'tap'

/** The certificate is valid for two days. `spoil` makes it unreadable. */
export function certificateFolder(t: Test): { readonly folder: string; spoil(): void } {
  const folder = temporaryFolder(t)
  const file = join(folder, 'public.crt')
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-keyout', join(folder, 'private.key')]
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1']
  execFileSync('openssl', ['req', ...key, ...names, '-x509', '-nodes', '-days', '2', '-out', file], { stdio: 'ignore' })
  return { folder, spoil: () => writeFileSync(file, 'no certificate') }
}
