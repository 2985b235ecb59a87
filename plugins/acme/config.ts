import { isAbsolute } from 'node:path'
import { Type } from 'typebox'

function checkDirectory(text: string): string | undefined {
  if (!URL.canParse(text)) return 'must be a URL'
  const { protocol, username, password } = new URL(text)
  if (protocol !== 'https:') return 'must be an https URL: authorities are asked over TLS alone (RFC 8555, 6.1)'
  return username === '' && password === '' ? undefined : 'must not have credentials in it'
}

export const AcmeConfig = Type.Object({
  directory: Type.String({
    variable: 'SVC_ACME_DIRECTORY',
    default: 'https://acme-v02.api.letsencrypt.org/directory',
    description:
      'Directory URL of the certificate authority. Another one is another account, and certificates are ordered anew there.',
    check: checkDirectory,
  }),
  email: Type.Optional(
    Type.String({
      variable: 'SVC_ACME_EMAIL',
      maxLength: 254,
      description: 'Where the certificate authority writes to; part of the account.',
      check: (text: string) => (/^[^\s@,?]+@[^\s@,?]+$/.test(text) ? undefined : 'must be one e-mail address'),
    }),
  ),
  caCert: Type.Optional(
    Type.String({
      variable: 'SVC_ACME_CA_CERT',
      format: 'path',
      description: 'PEM file with the CA of the directory, of a private authority; trusted for that alone.',
      check: (path: string) => (isAbsolute(path) ? undefined : 'must be an absolute path'),
    }),
  ),
  challenge: Type.Union([Type.Literal('http-01'), Type.Literal('tls-alpn-01')], {
    variable: 'SVC_ACME_CHALLENGE',
    default: 'http-01',
    description: 'Validation method of certificates that name none.',
  }),
  httpPort: Type.Integer({
    default: 80,
    minimum: 1,
    maximum: 65_535,
    description:
      'Port at which the server looks, before an order by http-01, whether a name leads to it. Only trials with a private CA have another: public authorities validate at 80.',
  }),
  eabKeyId: Type.Optional(
    Type.String({
      variable: 'SVC_ACME_EAB_KEY_ID',
      environmentOnly: true,
      description: 'External account binding: the key id that the authority has given out.',
    }),
  ),
  eabHmacKey: Type.Optional(
    Type.String({
      variable: 'SVC_ACME_EAB_HMAC_KEY',
      secret: true,
      description: 'External account binding: the key, in base64 or base64url.',
      check: (text: string) =>
        /^[A-Za-z0-9+/_-]{16,1024}={0,2}$/.test(text) ? undefined : 'must be a key in base64url',
    }),
  ),
})

export type AcmeConfig = Type.Static<typeof AcmeConfig>

/** Checks across keys. */
export function validateAcmeConfig({ eabKeyId, eabHmacKey }: AcmeConfig): string[] {
  return (eabKeyId === undefined) === (eabHmacKey === undefined)
    ? []
    : ['SVC_ACME_EAB_KEY_ID and SVC_ACME_EAB_HMAC_KEY belong together: set both or none']
}
