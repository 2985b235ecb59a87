/**
 * What everything keeps that connects by a guard and not by the client of this plugin: a contract suite.
 *
 *     t.test('allowed addresses', t => guardedClientContract(t, async () => ({
 *       attempt: (guard, host, port) => connectMine({ ...settings, address: `${host}:${port}` }, guard).send(message),
 *     })))
 */
import { type AddressInfo, createServer, type LookupFunction, type Socket } from 'node:net'
import { type ContractSuite, contractSuite } from 'svc/testing'
import type { Test } from 'tap'
import { type AddressGuard, createAddressGuard } from './api.ts'

export interface GuardedClientSubject {
  /** One attempt over its own connection. It rejects within some seconds: the reached server sends nothing and closes the connection. */
  attempt(guard: AddressGuard, host: string, port: number): Promise<unknown>
}

const name = 'service.test'
const metadata = '169.254.169.254'

async function startListener(t: Test) {
  let connections = 0
  const accept = (socket: Socket) => {
    connections++
    socket.on('error', () => {})
    socket.destroy()
  }
  const server = createServer(accept)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  return {
    port,
    /** Connections since it was last asked. */
    taken() {
      const count = connections
      connections = 0
      return count
    },
  }
}

/** Names with the addresses that the test chooses. */
function createNames() {
  const names = new Map<string, readonly string[]>()
  const lookup: LookupFunction = (hostname, _options, callback) => {
    const addresses = names.get(hostname)
    if (addresses === undefined) {
      return callback(Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' }), [])
    }
    callback(
      null,
      addresses.map(address => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  }
  return { names, lookup }
}

async function failureOf(attempt: Promise<unknown>): Promise<string> {
  return attempt.then(
    () => 'it succeeded',
    (error: unknown) => (error as Error).message,
  )
}

export const guardedClientContract: ContractSuite<GuardedClientSubject> = contractSuite('guarded client', {
  'the addresses of a name are checked for each connection': async (t, { attempt }) => {
    const { names, lookup } = createNames()
    const guard = createAddressGuard({ reach: 'private', allowedNetworks: [], lookup })
    const { port, taken } = await startListener(t)
    names.set(name, ['127.0.0.1'])
    await failureOf(attempt(guard, name, port))
    t.ok(taken() > 0, 'it connects where the name leads')
    names.set(name, [metadata])
    t.match(await failureOf(attempt(guard, name, port)), /its address is a link-local address/, 'also after a change')
    names.set(name, ['fd00:ec2::254', '::ffff:169.254.169.254'])
    t.match(await failureOf(attempt(guard, name, port)), /its address is the address of a metadata service/)
    t.equal(taken(), 0)
    names.set(name, [metadata, '127.0.0.1'])
    await failureOf(attempt(guard, name, port))
    t.ok(taken() > 0, 'of several addresses those that may be are used')
  },

  'an address is checked, which nothing looks up': async (t, { attempt }) => {
    const guard = createAddressGuard({ reach: 'public', allowedNetworks: [], lookup: createNames().lookup })
    const { port, taken } = await startListener(t)
    t.match(await failureOf(attempt(guard, '127.0.0.1', port)), /a loopback address/)
    t.equal(taken(), 0)
    const allowing = createAddressGuard({ reach: 'public', allowedNetworks: ['127.0.0.0/8'] })
    await failureOf(attempt(allowing, '127.0.0.1', port))
    t.ok(taken() > 0, 'connections to configured networks are allowed')
  },
})
