/** Vectors of the vendor's own signing libraries (`testdata.json`). */
import t from 'tap'
import { signEdgeGrid } from '../edge-grid.ts'

const keys = {
  clientToken: 'akab-client-token-xxx-xxxxxxxxxxxxxxxx',
  clientSecret: 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx=',
  accessToken: 'akab-access-token-xxx-xxxxxxxxxxxxxxxx',
}
const base = 'https://akaa-baseurl-xxxxxxxxxxx-xxxxxxxxxxxxx.luna.akamaiapis.net'
const nowMs = Date.parse('2014-03-21T19:34:21Z')
const nonce = 'nonce-xx-xxxx-xxxx-xxxx-xxxxxxxxxxxx'

for (const [name, method, path, body, signature] of [
  ['a GET', 'GET', '/', '', 'tL+y4hxyHxgWVD30X3pWnGKHcPzmrIF+LThiAOhMxYU='],
  ['a GET with a query', 'GET', '/testapi/v1/t1?p1=1&p2=2', '', 'hKDH1UlnQySSHjvIcZpDMbQHihTQ0XyVAKZaApabdeA='],
  [
    'a POST',
    'POST',
    '/testapi/v1/t3',
    'datadatadatadatadatadatadatadata',
    'hXm4iCxtpN22m4cbZb4lVLW5rhX8Ca82vCFqXzSTPe4=',
  ],
] as const) {
  t.test(name, async t => {
    const authorization = signEdgeGrid(keys, { method, url: `${base}${path}`, body, nowMs, nonce })
    t.equal(authorization.split('signature=')[1], signature)
    t.match(authorization, /^EG1-HMAC-SHA256 client_token=.*;timestamp=20140321T19:34:21\+0000;nonce=nonce-xx/)
  })
}
