/** A server with web listeners whose authority is a real one (pebble), and a bucket of pages. */
import { CreateBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { startPebble } from 'svc/plugins/acme/testing'
import { findLastingPort } from 'svc/testing'
import type { Test } from 'tap'
import { createClient } from './sdk.ts'
import { startServer } from './server.ts'

/** `page`: of `index.html` in the bucket `pages`. Ended when the test ends. */
export async function startAcmeSite(t: Test, page: string) {
  const [webPort, webTlsPort] = [await findLastingPort(), await findLastingPort()]
  const pebble = await startPebble(t, { httpPort: webPort, tlsPort: webTlsPort })
  const server = await startServer({
    environment: {
      SVC_WEB_ADDRESS: `127.0.0.1:${webPort}`,
      SVC_WEB_TLS_ADDRESS: `127.0.0.1:${webTlsPort}`,
      SVC_ACME_DIRECTORY: pebble.directory,
      SVC_ACME_CA_CERT: pebble.caFile,
      SVC_ACME_DNS_NAMESERVERS: pebble.dnsServer,
      SVC_ACME_HTTP_PORT: String(webPort),
    },
  })
  t.teardown(() => server.remove())
  const s3 = createClient(server)
  t.teardown(() => s3.destroy())
  await s3.send(new CreateBucketCommand({ Bucket: 'pages' }))
  await s3.send(new PutObjectCommand({ Bucket: 'pages', Key: 'index.html', Body: page }))
  return { pebble, server, webTlsPort }
}
