/** Validates a chain and its key before they are stored: everything that a client or OpenSSL would refuse later is refused now, with a reason. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { describeCertificate, keyTypeOf, validityOf } from 'svc/plugins/tls/api'
import { certificatesErrors } from './errors.ts'

const certificatesMax = 10
const rsaBitsMin = 2048
const keyTypes = new Set(['ecdsa-p256', 'ecdsa-p384', 'ed25519'])
const serverAuthentication = '1.3.6.1.5.5.7.3.1'
const block = /-----BEGIN ([A-Z0-9 ]{1,40})-----[A-Za-z0-9+/=\s]{1,65536}?-----END \1-----/g

export interface CheckedChain {
  /** PEM, leaf first, nothing between the certificates. */
  readonly chain: string
  /** PEM (PKCS #8). */
  readonly privateKey: string
  /** DNS names of the leaf, in lower case. */
  readonly domains: readonly string[]
}

/** Throws `invalid_certificate` with the reason, which never repeats any of the key. */
export function checkChain(chainText: string, keyText: string, nowMs: number): CheckedChain {
  const chain = readChain(chainText)
  const [leaf] = chain as [X509Certificate, ...X509Certificate[]]
  const key = readKey(keyText)
  requireKeyOfLeaf(chain, key)
  requireStrong(key)
  requireOrder(chain)
  requireDates(chain, nowMs)
  requireSignatures(chain)
  requireServer(leaf)
  const domains = [...new Set(describeCertificate(leaf, '').domains.map(name => name.toLowerCase()))]
  if (domains.length === 0) {
    refuse(
      'The certificate has no DNS name among its subject alternative names; clients do not look at its common name',
    )
  }
  if (domains.length > 100) refuse('The certificate has more than 100 DNS names')
  const text = chain.map(certificate => certificate.toString()).join('')
  const privateKey = key.export({ type: 'pkcs8', format: 'pem' }).toString()
  requireOpenSsl(text, privateKey)
  return { chain: text, privateKey, domains }
}

/** What can be wrong with a chain that is taken, because some authorities are known to all clients. */
export function chainWarnings(chainText: string): readonly string[] {
  const [leaf, ...issuers] = readChain(chainText) as [X509Certificate, ...X509Certificate[]]
  if (issuers.length > 0 || leaf.subject === leaf.issuer) return []
  const issuer = leaf.issuer.replaceAll('\n', ', ')
  return [
    `The chain is the leaf alone: clients that do not know its issuer (${issuer}) refuse it. Put the issuer's certificate behind it.`,
  ]
}

/** Throws `invalid_certificate`. The leaf comes first. */
export function readChain(text: string): X509Certificate[] {
  const blocks = [...text.matchAll(block)]
  const strange = blocks.find(([, label]) => label !== 'CERTIFICATE')
  if (strange !== undefined) {
    refuse(
      `The chain holds a block "${strange[1]}"; only blocks "CERTIFICATE" belong there, and the key has a field of its own`,
    )
  }
  if (blocks.length === 0) refuse('The chain holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)')
  if (blocks.length > certificatesMax) refuse(`The chain holds more than ${certificatesMax} certificates`)
  return blocks.map(([pem], index) => {
    try {
      return new X509Certificate(pem)
    } catch {
      // The parser's own message is about bytes; the place is more useful.
      return refuse(`Certificate ${index + 1} of the chain is damaged`)
    }
  })
}

function readKey(text: string): KeyObject {
  if (text.includes('ENCRYPTED')) {
    refuse('The private key is encrypted with a password; give it without one, it is sealed here', 'privateKey')
  }
  try {
    return createPrivateKey(text)
  } catch {
    // The parser's own message may quote its input.
    return refuse('The private key is no unencrypted key in PEM form', 'privateKey')
  }
}

function requireKeyOfLeaf(chain: readonly X509Certificate[], key: KeyObject): void {
  const place = chain.findIndex(certificate => certificate.checkPrivateKey(key))
  if (place === 0) return
  if (place < 0) refuse('The private key does not match the first certificate, which must be the leaf', 'privateKey')
  const first = chain[0]!.subject.replaceAll('\n', ', ')
  refuse(
    `The chain begins with ${first}; the leaf, to which the key belongs, is certificate ${place + 1}: put it first`,
  )
}

function requireStrong(key: KeyObject): void {
  const type = keyTypeOf(key)
  if (keyTypes.has(type)) return
  const bits = /^rsa-(\d+)$/.exec(type)?.[1]
  if (bits === undefined) refuse(`Keys of the type ${type} are not taken: use RSA, ECDSA on P-256 or P-384, or Ed25519`)
  if (Number(bits) < rsaBitsMin)
    refuse(`The RSA key has ${bits} bits, which is too weak; at least ${rsaBitsMin} are needed`)
}

/** Each certificate has to be issued by the next. */
function requireOrder(chain: readonly X509Certificate[]): void {
  for (let index = 0; index + 1 < chain.length; index++) {
    const [issued, issuer] = [chain[index]!, chain[index + 1]!]
    if (isIssuedBy(issued, issuer)) continue
    const found = chain.findIndex((other, place) => place !== index && isIssuedBy(issued, other))
    const reason =
      found >= 0
        ? `its issuer is certificate ${found + 1}: the order is the leaf, then the issuer of each certificate`
        : 'its issuer is not in the chain; leave out certificates that do not belong to it'
    refuse(`Certificate ${index + 1} of the chain was not issued by certificate ${index + 2}; ${reason}`)
  }
}

function isIssuedBy(issued: X509Certificate, issuer: X509Certificate): boolean {
  return issued.checkIssued(issuer) && issued.verify(issuer.publicKey)
}

function requireDates(chain: readonly X509Certificate[], nowMs: number): void {
  for (const [index, certificate] of chain.entries()) {
    const { notBeforeMs, notAfterMs } = validityOf(certificate)
    if (Number.isNaN(notBeforeMs) || Number.isNaN(notAfterMs)) {
      refuse(`Certificate ${index + 1} of the chain begins or ends at a date that does not exist`)
    }
    if (notAfterMs <= nowMs) {
      refuse(`Certificate ${index + 1} of the chain has expired on ${new Date(notAfterMs).toISOString()}`)
    }
    if (notBeforeMs >= notAfterMs) {
      refuse(`Certificate ${index + 1} of the chain ends before it begins`)
    }
  }
}

/** Clients do not verify the signature of a root. */
function requireSignatures(chain: readonly X509Certificate[]): void {
  for (const [index, certificate] of chain.entries()) {
    const isRoot = index > 0 && certificate.subject === certificate.issuer
    const algorithm = certificate.signatureAlgorithm ?? ''
    if (!isRoot && /sha1(?!\d)|md5|md4|md2/i.test(algorithm.replaceAll('-', ''))) {
      refuse(`Certificate ${index + 1} of the chain is signed with ${algorithm}, which is broken`)
    }
  }
}

function requireServer(leaf: X509Certificate): void {
  const uses = (leaf.keyUsage as readonly string[] | undefined) ?? []
  if (uses.length > 0 && !uses.includes(serverAuthentication)) {
    refuse('The first certificate is not for servers: its extended key usage lacks serverAuth')
  }
}

function requireOpenSsl(cert: string, key: string): void {
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    refuse(`OpenSSL refuses the certificate: ${(error as NodeJS.ErrnoException).code ?? 'unknown reason'}`)
  }
}

function refuse(problem: string, field: 'certificate' | 'privateKey' = 'certificate'): never {
  const message = `${problem}.`
  throw certificatesErrors.invalid_certificate(message, { cause: [{ element: `/${field}`, message }] })
}
