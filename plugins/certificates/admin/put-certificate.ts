import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import '../api.ts'
import { Certificate, CertificateParameters, describeSaved, madeByServer, uploadFields } from './certificate-schema.ts'

const CertificateReplacement = Type.Object(
  { ...uploadFields, id: Type.Optional(Type.Unknown({ readOnly: true })), ...madeByServer },
  { $id: 'CertificateReplacement' },
)

export default defineAdminOperation({
  id: 'putCertificate',
  method: 'PUT',
  path: '/certificates/{id}',
  tag: 'certificates',
  summary: 'Replaces an uploaded certificate and its key. The next handshake gets the new one; open connections stay.',
  authorize: ['admin:ManageCertificates'],
  params: CertificateParameters,
  query: Type.Object({
    force: Type.Boolean({
      default: false,
      description:
        'Also where domains of distributions that do not name it get it now, and would get none that browsers accept.',
    }),
  }),
  body: CertificateReplacement,
  response: Certificate,
  etag: true,
  errors: ['certificate_not_found', 'certificate_served', 'conflict', 'invalid_certificate', 'precondition_failed'],
  uses: ['certificates'],
  async handle({ params: { id }, query: { force }, body, ifMatch }, { certificates }) {
    const { certificate, privateKey, comment } = body
    return describeSaved(await certificates.replace(id, { certificate, privateKey, comment }, { ifMatch, force }))
  },
})
