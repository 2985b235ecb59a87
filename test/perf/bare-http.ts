/**
 * The floor for anything built on `node:http`: answers every request with the same 4 KiB and the headers that S3 would send.
 * What the server needs beyond this is its own.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const body = Buffer.alloc(4096, 'x')
const headers = {
  'content-length': body.length,
  'content-type': 'application/octet-stream',
  etag: '"d41d8cd98f00b204e9800998ecf8427e"',
  'last-modified': 'Sat, 21 Nov 2026 11:40:58 GMT',
  'accept-ranges': 'bytes',
  'x-amz-request-id': '0123456789ABCDEF',
}

const server = createServer((_, response) => {
  response.writeHead(200, headers)
  response.end(body)
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening ${(server.address() as AddressInfo).port}\n`)
})
