import { Socket } from 'node:net'
import type { AddressGuard } from 'svc/plugins/http-client/api'

/**
 * Restricts all connections of this thread to addresses that the guard allows, because the client of Kafka has no option `lookup` and
 * connects to brokers that other brokers name. Builtin modules belong to their thread, so other threads are unaffected. TLS still
 * verifies the name.
 */
export function guardSockets(guard: AddressGuard): void {
  const connect = Socket.prototype.connect
  Socket.prototype.connect = function (this: Socket, ...given: readonly unknown[]) {
    // `net.connect` passes an array of options and listener, `tls.connect` two arguments.
    const [options] = Array.isArray(given[0]) ? given[0] : given
    try {
      const { host, path } = Object(options)
      if (typeof host !== 'string' || path != null) throw new TypeError('A connection is made to a host.')
      guard.check(host)
      options.lookup = guard.lookup
    } catch (error) {
      // Like every failure of a connection: later, as an event.
      process.nextTick(() => this.destroy(error as Error))
      return this
    }
    return Reflect.apply(connect, this, given)
  } as typeof connect
}
