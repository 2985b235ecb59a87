/**
 * Handles a connection before a TLS server gets it. A client that offers only `acme-tls/1` is a certificate authority that validates a
 * name: it gets the certificate of the challenge and no other (RFC 8737, 3). If listeners have no default certificate, a name without
 * a certificate is refused with the alert `unrecognized_name`.
 */
import type { Socket } from 'node:net'
import { createSecureContext, createServer, type Server } from 'node:tls'
import type { Clock, Logger } from 'svc/kernel'
import type { TlsChallenge } from './api.ts'
import { plainServerName, readClientHello } from './client-hello.ts'
import type { ServerNames } from './server-names.ts'

export const challengeProtocol = 'acme-tls/1'
const helloTimeoutMs = 10_000
/** A validation ends with its handshake. */
const challengeTimeoutMs = 10_000
/** Record of type alert, TLS 1.0 as all that come before a version is agreed on, two bytes: fatal, unrecognized_name. */
const unrecognizedName = Buffer.from([21, 3, 1, 0, 2, 2, 112])

export interface AdmissionOptions {
  challenges(): readonly TlsChallenge[]
  hasOwn(): boolean
  readonly names: ServerNames
  readonly clock: Clock
  readonly log: Logger
}

export function createAdmission({ challenges, hasOwn, names, clock, log }: AdmissionOptions) {
  let challengeServer: Server | undefined

  async function findChallenge(serverName: string) {
    const name = plainServerName(serverName)
    for (const challenge of challenges()) {
      const found = await challenge.find(name)
      if (found !== undefined) return found
    }
    return undefined
  }

  /** Never listens: it is given connections. */
  function createChallengeServer(): Server {
    const server = createServer({
      ALPNProtocols: [challengeProtocol],
      handshakeTimeout: challengeTimeoutMs,
      SNICallback(serverName, done) {
        findChallenge(serverName).then(
          found => {
            if (found === undefined) return done(new Error('no challenge is pending for this name'))
            done(null, createSecureContext({ cert: found.certificate, key: found.key, minVersion: 'TLSv1.2' }))
          },
          error => done(error),
        )
      },
    })
    server.on('secureConnection', socket => socket.end())
    // Whoever offers the protocol without being asked to fails here, all day long.
    server.on('tlsClientError', (_error, socket) => socket.destroy())
    return server
  }

  function answerChallenge(socket: Socket): void {
    challengeServer ??= createChallengeServer()
    socket.setTimeout(challengeTimeoutMs, () => socket.destroy())
    challengeServer.emit('connection', socket)
  }

  function refuse(socket: Socket): void {
    socket.end(unrecognizedName)
    clock.after(500, () => socket.destroy())
  }

  async function serveNamed(socket: Socket, serverName: string | undefined, serve: () => void): Promise<void> {
    const context = serverName === undefined ? undefined : await names.contextFor(serverName)
    if (socket.destroyed) return
    if (context === undefined) refuse(socket)
    else serve()
  }

  function admitRead(socket: Socket, hello: ReadHello, serve: () => void): void {
    if (hello === undefined) {
      socket.destroy()
    } else if (hello.state === 'complete' && isChallenge(hello.protocols)) {
      answerChallenge(socket)
    } else if (hello.state === 'complete' && !hasOwn()) {
      serveNamed(socket, hello.serverName, serve).catch(error => {
        log.error({ err: error }, 'a certificate could not be looked up')
        socket.destroy()
      })
    } else {
      serve()
    }
  }

  return {
    admit(socket: Socket, serve: () => void): void {
      const isRead = !hasOwn() || challenges().some(mayBePending)
      if (isRead) readClientHello(socket, clock.after, helloTimeoutMs, hello => admitRead(socket, hello, serve))
      else serve()
    },
  }
}

/** Not known before the storage is open, or when it has closed: a connection is no reason for the thread to end. */
function mayBePending(challenge: TlsChallenge): boolean {
  try {
    return challenge.isPending()
  } catch {
    return true
  }
}

type ReadHello = Parameters<Parameters<typeof readClientHello>[3]>[0]

const isChallenge = (protocols: readonly string[]) => protocols.length === 1 && protocols[0] === challengeProtocol
