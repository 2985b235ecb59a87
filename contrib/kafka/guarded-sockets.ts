import { Socket } from 'node:net'
import type { AddressGuard } from 'svc/plugins/http-client/api'

/**
 * Whatever connects in this thread connects to addresses that the guard allows: the client of Kafka takes no `lookup`, and connects to
 * brokers that other brokers name. Builtin modules are of their thread, so that no other one notices. TLS verifies the name as before.
 */
export function guardSockets(guard: AddressGuard): void {
  const connect = Socket.prototype.connect
  Socket.prototype.connect = function (this: Socket, ...given: readonly unknown[]) {
    // `net.connect` hands on a list of options and listener, `tls.connect` the two.
    const [options] = Array.isArray(given[0]) ? given[0] : given
    try {
      const { host, path } = Object(options)
      if (typeof host !== 'string' || path != null) throw new TypeError('A connection is made to a host.')
      guard.check(host)
      options.lookup = guard.lookup
    } catch (error) {
      // As any failure of a connection: later, and to whoever listens.
      process.nextTick(() => this.destroy(error as Error))
      return this
    }
    return Reflect.apply(connect, this, given)
  } as typeof connect
}
