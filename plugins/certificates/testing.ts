/** Creates a certificate authority with OpenSSL, for tests of plugins that serve certificates. */
import { execFileSync } from 'node:child_process'
import { createPrivateKey } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface TestCertificate {
  /** PEM, leaf first, the intermediate behind it. */
  readonly chain: string
  readonly leaf: string
  /** PEM (PKCS #8). */
  readonly key: string
}

export interface IssueOptions {
  /** Arguments of `openssl req -newkey`; default P-256. */
  readonly key?: readonly string[]
  /** End of the validity in days from now; default 10. */
  readonly days?: number
  readonly digest?: string
  readonly extensions?: readonly string[]
}

export interface TestAuthority {
  /** PEM file of the root. */
  readonly file: string
  readonly root: string
  readonly intermediate: string
  issue(names: readonly string[], options?: IssueOptions): TestCertificate
}

const p256 = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256']

/** Root and intermediate, in files of this folder. */
export function createTestAuthority(folder: string): TestAuthority {
  let count = 0
  const file = (name: string) => join(folder, name)
  const openssl = (...args: readonly string[]) => execFileSync('openssl', args, { stdio: 'pipe' })
  const authority = ['basicConstraints=critical,CA:true', 'keyUsage=critical,keyCertSign']
  const extensions = (lines: readonly string[]) => lines.flatMap(line => ['-addext', line])
  openssl(
    ...['req', '-x509', '-nodes', ...p256, '-days', '3650', '-subj', '/CN=test root', ...extensions(authority)],
    ...['-keyout', file('root.key'), '-out', file('root.crt')],
  )

  function sign(name: string, by: string, lines: readonly string[], { days = 10, digest = 'sha256' }: IssueOptions) {
    writeFileSync(file(`${name}.ext`), lines.join('\n'))
    openssl(
      ...[
        'x509',
        '-req',
        '-in',
        file(`${name}.csr`),
        '-CA',
        file(`${by}.crt`),
        '-CAkey',
        file(`${by}.key`),
        '-CAcreateserial',
      ],
      ...['-days', String(days), `-${digest}`, '-extfile', file(`${name}.ext`), '-out', file(`${name}.crt`)],
    )
  }

  function request(name: string, subject: string, key: readonly string[]) {
    openssl('req', '-nodes', ...key, '-subj', subject, '-keyout', file(`${name}.key`), '-out', file(`${name}.csr`))
  }

  const read = (name: string) => readFileSync(file(name), 'utf8')
  request('intermediate', '/CN=test intermediate', p256)
  sign('intermediate', 'root', authority, { days: 3000 })
  return {
    file: file('root.crt'),
    root: read('root.crt'),
    intermediate: read('intermediate.crt'),
    issue(names, options = {}) {
      const name = `leaf-${++count}`
      const sans = names.length === 0 ? [] : [`subjectAltName=${names.map(each => `DNS:${each}`).join(',')}`]
      request(name, `/CN=${names[0] ?? 'nameless'}`, options.key ?? p256)
      sign(name, 'intermediate', [...sans, ...(options.extensions ?? [])], options)
      const leaf = read(`${name}.crt`)
      return { leaf, chain: leaf + read('intermediate.crt'), key: read(`${name}.key`) }
    },
  }
}

/** Forms in which a private key would be found in files, logs and answers: its text by lines, and its bytes. */
export function tracesOf(key: string): readonly Buffer[] {
  const parsed = createPrivateKey(key)
  const { d } = parsed.export({ format: 'jwk' })
  const scalar = Buffer.from(d!, 'base64url')
  const pem = parsed.export({ format: 'pem', type: 'pkcs8' }).toString()
  const lines = pem.split('\n').filter(line => line.length > 20 && !line.startsWith('-'))
  return [
    scalar,
    Buffer.from(d!),
    Buffer.from(scalar.toString('base64')),
    Buffer.from(scalar.toString('hex')),
    ...lines.map(line => Buffer.from(line)),
  ]
}
