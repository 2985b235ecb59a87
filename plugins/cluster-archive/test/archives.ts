/** Archives of test deployments, over HTTP as clients get and send them. */
import { get, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { rootPassword, rootUser, type TestAdmin } from 'svc/plugins/admin/testing'
import { signRequest } from 'svc/plugins/auth-sigv4/api'

/** The archive of a deployment. */
export async function download(server: TestAdmin): Promise<Buffer> {
  const path = '/api/v1/cluster/export'
  const host = `127.0.0.1:${server.port}`
  const signer = { accessKey: rootUser, secret: rootPassword, region: 'us-east-1' }
  const { headers } = signRequest(signer, { method: 'GET', host, path, query: '', headers: {}, nowMs: Date.now() })
  return new Promise((done, fail) => {
    const sent = get({ host: '127.0.0.1', port: server.port, path, headers, agent: false }, answer => {
      if (answer.statusCode === 200) buffer(answer).then(done, fail)
      else fail(new Error(`${answer.statusCode}`))
    })
    sent.on('error', fail)
  })
}

/** Imports it; `query` as in a URL. */
export async function upload(
  server: TestAdmin,
  bytes: Buffer,
  query = '',
  accessKey = rootUser,
  secret = rootPassword,
) {
  const path = '/api/v1/cluster/import'
  const host = `127.0.0.1:${server.port}`
  const signer = { accessKey, secret, region: 'us-east-1' }
  const signed = signRequest(signer, {
    method: 'POST',
    host,
    path,
    query,
    headers: {},
    payload: bytes,
    nowMs: Date.now(),
  })
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it
  return new Promise<{ status: number; json: any }>((done, fail) => {
    const options = { host: '127.0.0.1', port: server.port, path: `${path}?${query}`, method: 'POST', agent: false }
    const sent = request({ ...options, headers: { ...signed.headers, 'content-length': bytes.length } }, answer => {
      buffer(answer).then(text => done({ status: answer.statusCode!, json: JSON.parse(text.toString()) }), fail)
    })
    sent.on('error', fail)
    sent.end(bytes)
  })
}
