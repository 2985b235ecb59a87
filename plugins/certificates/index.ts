/** Stored certificates, presented by server name. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import { noMetrics } from 'svc/plugins/metrics/api'
import 'svc/plugins/tls/api'
import { Type } from 'typebox'
import createCertificate from './admin/create-certificate.ts'
import deleteCertificate from './admin/delete-certificate.ts'
import getCertificate from './admin/get-certificate.ts'
import listCertificates from './admin/list-certificates.ts'
import putCertificate from './admin/put-certificate.ts'
import renewCertificate from './admin/renew-certificate.ts'
import { createCertificates } from './certificates.ts'
import { declareCertificateDocuments } from './documents.ts'
import { registerExpiryFamily } from './expiry-family.ts'
import { certificatesPoints } from './points.ts'
import { createCertificateTable } from './table.ts'

export default definePlugin({
  name: 'certificates',
  description: 'Stored certificates, presented by server name.',
  requires: ['store', 'tls'],
  optional: ['metrics'],
  provides: ['certificates'],
  points: certificatesPoints,
  contributes: {
    'admin.operation': [
      listCertificates,
      createCertificate,
      getCertificate,
      putCertificate,
      deleteCertificate,
      renewCertificate,
    ],
  },
  config: Type.Object({}),
  setup({ services, ports: { clock, random }, threads, log, point, contribute }) {
    const { store, tls, metrics = noMetrics } = services
    const documents = declareCertificateDocuments(store, random.bytes)
    const issuers = point('certificate.issuer')
    const userPoint = point('certificate.user')
    const users = () => userPoint.list().map(({ value }) => value)
    const issuer = () => issuers.list()[0]?.value
    const table = createCertificateTable({ documents, users, clock, log })
    const certificates = createCertificates({ store, documents, tls, table, users, issuer, clock })
    let isStarted = false
    contribute('tls.source', 'certificates', {
      // A listener may be asked before documents can be read: it refuses everything then, under whichever certificate.
      find: name => (isStarted ? table.find(name) : undefined),
    })
    if (threads.isMain) registerExpiryFamily(metrics, table, clock)
    return {
      services: { certificates },
      start() {
        isStarted = true
      },
    }
  },
})
