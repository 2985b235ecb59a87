/**
 * A collector of both protocols. It shares no code with the plugin: protobufjs decodes, from its own description, and gRPC is
 * spoken by the server of grpc-js.
 */
import { readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js'
import protobuf from 'protobufjs'
import type { Test } from 'tap'

const { root } = protobuf.parse(readFileSync(join(import.meta.dirname, 'otlp.proto'), 'utf8'), { keepCase: false })
const Request = root.lookupType('otlp.ExportTraceServiceRequest')
const Response = root.lookupType('otlp.ExportTraceServiceResponse')

export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  /** Empty where there is none. */
  readonly parentSpanId: string
  readonly traceState: string
  readonly name: string
  readonly kind: number
  readonly startMs: number
  readonly endMs: number
  readonly status: number
  readonly flags: number
  readonly attributes: Readonly<Record<string, string | number>>
  readonly resource: Readonly<Record<string, string | number>>
  readonly scope: { readonly name: string; readonly version: string }
}

export interface Collector {
  readonly endpoint: string
  readonly spans: ReceivedSpan[]
  /** Of each request. */
  readonly headers: Record<string, string | string[] | undefined>[]
  /** All received bytes, as Latin-1: to search for text that must not be there. */
  readonly bytes: () => string
  stop(): Promise<void>
}

export interface KeyFiles {
  readonly certificate: string
  readonly key: string
}

// biome-ignore lint/suspicious/noExplicitAny: the description determines the type
type Decoded = any

export function decodeSpans(bytes: Uint8Array): ReceivedSpan[] {
  const decoded: Decoded = Request.toObject(Request.decode(bytes), { longs: Number, bytes: Buffer, defaults: true })
  return decoded.resourceSpans.flatMap(({ resource, scopeSpans }: Decoded) =>
    scopeSpans.flatMap(({ scope, spans }: Decoded) =>
      spans.map((span: Decoded) => ({
        traceId: hex(span.traceId),
        spanId: hex(span.spanId),
        parentSpanId: hex(span.parentSpanId),
        traceState: span.traceState,
        name: span.name,
        kind: span.kind,
        startMs: span.startTimeUnixNano / 1e6,
        endMs: span.endTimeUnixNano / 1e6,
        status: span.status?.code ?? 0,
        flags: span.flags,
        attributes: attributesOf(span.attributes),
        resource: attributesOf(resource.attributes),
        scope,
      })),
    ),
  )
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const attributesOf = (list: Decoded): Record<string, string | number> =>
  Object.fromEntries(list.map(({ key, value }: Decoded) => [key, value.intValue ?? value.stringValue]))

const answerOf = (rejected: number): Buffer =>
  Buffer.from(
    Response.encode(
      rejected === 0 ? {} : { partialSuccess: { rejectedSpans: rejected, errorMessage: 'too many' } },
    ).finish(),
  )

export interface HttpCollectorOptions {
  readonly tls?: KeyFiles
  /** Instead of 200. */
  readonly answer?: (count: number, response: ServerResponse) => boolean
  readonly rejected?: number
}

export async function startHttpCollector(t: Test, options: HttpCollectorOptions = {}): Promise<Collector> {
  const state = makeState()
  const sockets = new Set<Socket>()
  const handle = async (
    request: { headers: IncomingHttpHeaders; url?: string } & NodeJS.ReadableStream,
    response: ServerResponse,
  ) => {
    const body = await buffer(request)
    state.headers.push({ ...request.headers, ':path': request.url })
    if (options.answer?.(state.headers.length, response) === true) return
    state.take(body)
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end(answerOf(options.rejected ?? 0))
  }
  const { tls } = options
  const server =
    tls === undefined
      ? createServer(handle)
      : createTlsServer({ cert: readFileSync(tls.certificate), key: readFileSync(tls.key) }, handle)
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const stop = () =>
    new Promise<void>(resolve => {
      server.close(() => resolve())
      for (const socket of sockets) socket.destroy()
    })
  t.teardown(stop)
  const { port } = server.address() as AddressInfo
  return { ...state, endpoint: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`, stop }
}

export interface GrpcCollectorOptions {
  readonly tls?: KeyFiles
  readonly rejected?: number
  /** The status of the call; 0 takes it. */
  readonly status?: (count: number) => number
}

/** `endpoint` is host:port. */
export async function startGrpcCollector(t: Test, options: GrpcCollectorOptions = {}): Promise<Collector> {
  const state = makeState()
  const server = new Server()
  const service = {
    Export: {
      path: '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
      requestStream: false,
      responseStream: false,
      requestSerialize: (bytes: Buffer) => bytes,
      requestDeserialize: (bytes: Buffer) => bytes,
      responseSerialize: (bytes: Buffer) => bytes,
      responseDeserialize: (bytes: Buffer) => bytes,
    },
  }
  server.addService(service, {
    Export({ request, metadata }: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) {
      state.headers.push(metadata.getMap() as Record<string, string>)
      const status = options.status?.(state.headers.length) ?? 0
      if (status !== 0) return callback({ code: status, details: 'as the test wants' })
      state.take(request)
      callback(null, answerOf(options.rejected ?? 0))
    },
  })
  const { tls } = options
  const credentials =
    tls === undefined
      ? ServerCredentials.createInsecure()
      : ServerCredentials.createSsl(null, [
          { cert_chain: readFileSync(tls.certificate), private_key: readFileSync(tls.key) },
        ])
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', credentials, (error, bound) => (error === null ? resolve(bound) : reject(error)))
  })
  const stop = async () => server.forceShutdown()
  t.teardown(stop)
  return { ...state, endpoint: `127.0.0.1:${port}`, stop }
}

function makeState() {
  const spans: ReceivedSpan[] = []
  const bodies: string[] = []
  const headers: Collector['headers'] = []
  return {
    spans,
    headers,
    bytes: () => bodies.join('\n'),
    take(body: Uint8Array) {
      bodies.push(Buffer.from(body).toString('latin1'))
      spans.push(...decodeSpans(body))
    },
  }
}
