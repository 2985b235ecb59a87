import { type Static, Type } from 'typebox'

const secure = (urls: readonly string[]) => {
  for (const url of urls) {
    if (!URL.canParse(url) || new URL(url).protocol !== 'https:') return 'must be URLs that begin with https://'
    const { username, password, search, hash } = new URL(url)
    if (username !== '' || password !== '' || search !== '' || hash !== '') {
      return 'must be URLs without credentials, query and fragment'
    }
  }
  return undefined
}

export const RemoteConfig = Type.Object({
  endpoints: Type.Array(Type.String(), {
    variable: 'SVC_KMS_ENDPOINT',
    default: [],
    description: 'HTTPS URLs of key servers that have the same keys. The first that answers is used.',
    check: secure,
  }),
  keyName: Type.Optional(
    Type.String({ variable: 'SVC_KMS_KEY_NAME', description: 'Key on them that seals where none is named.' }),
  ),
  clientCertificate: Type.Optional(
    Type.String({
      variable: 'SVC_KMS_CLIENT_CERT',
      format: 'path',
      description: 'PEM file with the certificate that this server shows to key servers.',
    }),
  ),
  clientKey: Type.Optional(
    Type.String({ variable: 'SVC_KMS_CLIENT_KEY', format: 'path', description: 'PEM file with its key.' }),
  ),
  authorities: Type.Optional(
    Type.String({
      variable: 'SVC_KMS_CAPATH',
      format: 'path',
      description:
        'PEM file, or folder of such, with the authorities that key servers are trusted by. Default: those of the system.',
    }),
  ),
  protocol: Type.Union([Type.Literal('kes'), Type.Literal('transit')], {
    variable: 'SVC_KMS_PROTOCOL',
    default: 'kes',
    description: 'What the key servers speak: `kes`, or `transit` as HashiCorp Vault and OpenBao do.',
  }),
  token: Type.Optional(
    Type.String({
      variable: 'SVC_KMS_TOKEN',
      secret: true,
      description: 'Token for transit. Without, the client certificate logs in.',
    }),
  ),
  mount: Type.String({
    default: 'transit',
    description: 'Where the transit engine is mounted.',
    pattern: '^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$',
  }),
  namespace: Type.Optional(Type.String({ description: 'Namespace of transit, where there is one.' })),
  timeoutMs: Type.Integer({
    minimum: 10,
    maximum: 60_000,
    default: 5000,
    format: 'duration',
    description: 'How long one key server may take to answer before the next is asked.',
  }),
  probeIntervalMs: Type.Integer({
    minimum: 100,
    default: 15_000,
    format: 'duration',
    description: 'How often it is seen whether the key servers answer.',
  }),
})

export type RemoteConfig = Static<typeof RemoteConfig>

/** What no single key can say. */
export function checkRemote(config: RemoteConfig): readonly string[] {
  if (config.endpoints.length === 0) return []
  const problems: string[] = []
  if (config.keyName === undefined) problems.push('SVC_KMS_KEY_NAME must name the key that seals by default')
  if ((config.clientCertificate === undefined) !== (config.clientKey === undefined)) {
    problems.push('SVC_KMS_CLIENT_CERT and SVC_KMS_CLIENT_KEY go together')
  }
  if (config.clientCertificate === undefined && config.token === undefined) {
    problems.push('SVC_KMS_CLIENT_CERT and SVC_KMS_CLIENT_KEY, or SVC_KMS_TOKEN for transit, must prove who asks')
  }
  if (config.protocol === 'kes' && config.clientCertificate === undefined) {
    problems.push('The protocol kes needs SVC_KMS_CLIENT_CERT and SVC_KMS_CLIENT_KEY')
  }
  return problems
}
