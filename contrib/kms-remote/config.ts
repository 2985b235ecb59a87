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
    environmentOnly: true,
    default: [],
    description: 'HTTPS URLs of key servers with the same keys. One is used until it fails, then the next.',
    check: secure,
  }),
  keyName: Type.Optional(
    Type.String({
      variable: 'SVC_KMS_KEY_NAME',
      environmentOnly: true,
      description: 'Key that wraps data keys if a request names none. It must exist on the key servers.',
    }),
  ),
  clientCertificate: Type.Optional(
    Type.String({
      variable: 'SVC_KMS_CLIENT_CERT',
      environmentOnly: true,
      format: 'path',
      description: 'PEM file with the client certificate of this server.',
    }),
  ),
  clientKey: Type.Optional(
    Type.String({
      variable: 'SVC_KMS_CLIENT_KEY',
      environmentOnly: true,
      format: 'path',
      description: 'PEM file with the private key of the client certificate.',
    }),
  ),
  authorities: Type.Optional(
    Type.String({
      variable: 'SVC_KMS_CAPATH',
      environmentOnly: true,
      format: 'path',
      description:
        'PEM file, or folder of PEM files, with the certificate authorities of the key servers. Default: the ones built into Node.js.',
    }),
  ),
  protocol: Type.Union([Type.Literal('kes'), Type.Literal('transit')], {
    variable: 'SVC_KMS_PROTOCOL',
    default: 'kes',
    description: 'Protocol of the key servers: `kes`, or `transit` of HashiCorp Vault and OpenBao.',
  }),
  token: Type.Optional(
    Type.String({
      variable: 'SVC_KMS_TOKEN',
      secret: true,
      description: 'Token for transit. Default: log in with the client certificate.',
    }),
  ),
  mount: Type.String({
    default: 'transit',
    description: 'Mount path of the transit engine.',
    pattern: '^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$',
    errorMessage: 'must be words of letters, digits, dots, underscores and hyphens, with slashes between them',
  }),
  namespace: Type.Optional(Type.String({ description: 'Namespace of the transit engine, if any.' })),
  timeoutMs: Type.Integer({
    minimum: 10,
    maximum: 60_000,
    default: 5000,
    format: 'duration',
    description: 'How long to wait for one key server before the next one is tried.',
  }),
  probeIntervalMs: Type.Integer({
    minimum: 100,
    default: 15_000,
    format: 'duration',
    description: 'How often to check that the key servers answer.',
  }),
})

export type RemoteConfig = Static<typeof RemoteConfig>

/** Checks that involve more than one setting. */
export function checkRemote(config: RemoteConfig): readonly string[] {
  if (config.endpoints.length === 0) return []
  const problems: string[] = []
  if (config.keyName === undefined) problems.push('SVC_KMS_KEY_NAME must name the default key')
  if ((config.clientCertificate === undefined) !== (config.clientKey === undefined)) {
    problems.push('SVC_KMS_CLIENT_CERT and SVC_KMS_CLIENT_KEY go together')
  }
  if (config.clientCertificate === undefined && config.token === undefined) {
    problems.push(
      'SVC_KMS_CLIENT_CERT and SVC_KMS_CLIENT_KEY, or SVC_KMS_TOKEN for transit, must be set to authenticate this server',
    )
  }
  if (config.protocol === 'kes' && config.clientCertificate === undefined) {
    problems.push('The protocol kes needs SVC_KMS_CLIENT_CERT and SVC_KMS_CLIENT_KEY')
  }
  return problems
}
