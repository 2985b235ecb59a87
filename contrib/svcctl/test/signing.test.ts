/** Signatures against the examples of AWS and against the server's own, whose code svcctl does not load. */
import { presignUrl, signPolicy, signRequest } from 'svc/plugins/auth-sigv4/api'
import t from 'tap'
import { createSigner, type RequestToSign } from '../s3/signing.ts'

const keys = {
  accessKey: 'AKIAIOSFODNN7EXAMPLE',
  secretKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  region: 'us-east-1',
}
const serverKeys = { accessKey: keys.accessKey, secret: keys.secretKey, region: keys.region }
const signer = createSigner(keys)
const nowMs = Date.UTC(2013, 4, 24)
const host = 'examplebucket.s3.amazonaws.com'

t.test('the examples of AWS', t => {
  const get = signer.signRequest({
    method: 'GET',
    host,
    path: '/test.txt',
    query: '',
    headers: { range: 'bytes=0-9' },
    nowMs,
  })
  t.match(get.authorization, /Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41$/)
  const list = signer.signRequest({ method: 'GET', host, path: '/', query: 'max-keys=2&prefix=J', nowMs })
  t.match(list.authorization, /Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7$/)
  const url = signer.presignUrl({ method: 'GET', url: `https://${host}/test.txt`, expiresSeconds: 86_400, nowMs })
  t.match(url, /X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404$/)
  t.end()
})

t.test('the same signatures as the server makes', t => {
  const payload = Buffer.from('body')
  const requests: readonly Omit<RequestToSign, 'host'>[] = [
    { method: 'PUT', path: '/b/a%20b', query: '', headers: { 'x-amz-meta-a': '  two   blanks\t' }, payload, nowMs },
    { method: 'GET', path: '/b', query: 'a-b=1&a=2&&a=1&lifecycle', payload: 'UNSIGNED-PAYLOAD', nowMs: nowMs + 1 },
    { method: 'DELETE', path: '/b/%C3%A9', query: 'versionId=x', headers: { 'x-amz-meta-n': 'caf\xe9' }, nowMs },
  ]
  for (const request of requests) {
    const own = signer.signRequest({ host, ...request })
    t.same(own, signRequest(serverKeys, { host, ...request }).headers)
  }
  for (const url of [`http://${host}:80/b/../k?versionId=1`, 'https://H:9000', 'http://h/k?b=2&a=1']) {
    const request = { method: 'PUT', url, expiresSeconds: 60, nowMs, headers: { 'x-amz-acl': 'private' } }
    t.equal(signer.presignUrl(request), presignUrl(serverKeys, request))
  }
  t.same(signer.signPolicy('{"a":"é"}', nowMs), signPolicy(serverKeys, '{"a":"é"}', nowMs))
  t.end()
})

t.test('a URL is good for a second to a week', t => {
  const request = { method: 'GET', url: 'http://h/k', nowMs }
  for (const expiresSeconds of [0, 0.5, 604_801]) {
    t.throws(() => signer.presignUrl({ ...request, expiresSeconds }), /good for 1 to 604800 seconds/)
  }
  t.throws(() => signer.presignUrl({ ...request, url: '/k', expiresSeconds: 1 }), /must be absolute/)
  t.end()
})
