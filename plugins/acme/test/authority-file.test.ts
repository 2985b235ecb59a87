/** The CA of a private authority: looked at when the server starts, and named when the authority is not trusted. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startAdmin } from 'svc/plugins/admin/testing'
import { createTestAuthority } from 'svc/plugins/certificates/testing'
import { HttpClientError } from 'svc/plugins/http-client/api'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import { requireAuthorityFile } from '../authority-file.ts'
import { failureOf } from '../failure.ts'

t.test('a server whose file is missing, or is none, does not start, and says which', async t => {
  const folder = temporaryFolder(t)
  const missing = join(folder, 'missing.pem')
  await t.rejects(startAdmin({ config: { acme: { caCert: missing } } }), {
    message:
      /SVC_ACME_CA_CERT is .*missing\.pem: the file of the authorities cannot be read, or holds no PEM certificate/,
  })
  const wrong = join(folder, 'wrong.pem')
  writeFileSync(wrong, 'nothing')
  await t.rejects(requireAuthorityFile(wrong), { message: /wrong\.pem: .* holds no PEM certificate/ })
  writeFileSync(wrong, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')
  await t.rejects(requireAuthorityFile(wrong), { message: /wrong\.pem: .* holds no PEM certificate/ })
  await t.resolves(requireAuthorityFile(undefined))
  await t.resolves(requireAuthorityFile(createTestAuthority(folder).file))
})

t.test('where the authority is not trusted, the failure names the setting', async t => {
  const error = new HttpClientError('tls', 'ca.test shows a certificate that is not trusted')
  t.match(failureOf(error).message, /is not trusted; give its CA in SVC_ACME_CA_CERT\.$/)
})
