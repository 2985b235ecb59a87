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

/** The variable that sets the address of a listener; other listeners have none. */
export const addressVariables: Readonly<Partial<Record<ListenerName, string>>> = {
  s3: 'SVC_ADDRESS',
  console: 'SVC_CONSOLE_ADDRESS',
}

export const proxyProtocolKey = Type.Array(Type.Union([Type.Literal('s3'), Type.Literal('console')]), {
  variable: 'SVC_PROXY_PROTOCOL',
  default: [],
  description: 'Listeners on which every connection begins with a PROXY protocol header (v1 or v2): s3, console.',
})
