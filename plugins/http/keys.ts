/** Configuration keys that other plugins also read. */
import Type from 'typebox'
import { checkListenAddress } from './address.ts'
import type { ListenerName } from './api.ts'

export const addressKey = Type.String({
  variable: 'SVC_ADDRESS',
  default: ':9000',
  description: 'Address of the S3 listener: host:port, :port or [v6]:port; port 0 takes any free one.',
  check: checkListenAddress,
})

export const consoleAddressKey = Type.String({
  variable: 'SVC_CONSOLE_ADDRESS',
  default: ':9001',
  description: 'Address of the listener of the console and the Admin API.',
  check: checkListenAddress,
})

const webAddressOf = (variable: string, description: string) =>
  Type.Optional(Type.String({ variable, description, check: checkListenAddress }))

export const webAddressKey = webAddressOf(
  'SVC_WEB_ADDRESS',
  'Address of the web listener: distributions and ACME challenges alone, in plain HTTP. Absent: there is none.',
)

export const webTlsAddressKey = webAddressOf(
  'SVC_WEB_TLS_ADDRESS',
  'Address of the web listener with TLS: distributions alone. Absent: there is none.',
)

/** What sets the address of a listener. */
export const addressVariables: Readonly<Record<ListenerName, string>> = {
  s3: 'SVC_ADDRESS',
  console: 'SVC_CONSOLE_ADDRESS',
  web: 'SVC_WEB_ADDRESS',
  'web-tls': 'SVC_WEB_TLS_ADDRESS',
}

export const proxyProtocolKey = Type.Array(
  Type.Union([Type.Literal('s3'), Type.Literal('console'), Type.Literal('web')]),
  {
    variable: 'SVC_PROXY_PROTOCOL',
    default: [],
    description:
      'Listeners on which every connection begins with a PROXY protocol header (v1 or v2): s3, console, web (both web listeners).',
  },
)
