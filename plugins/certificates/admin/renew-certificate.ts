import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import '../api.ts'
import { Certificate, CertificateParameters, describeCertificate } from './certificate-schema.ts'

export default defineAdminOperation({
  id: 'renewCertificate',
  method: 'POST',
  path: '/certificates/{id}/renew',
  tag: 'certificates',
  summary: 'Orders a certificate anew, now. The present one is presented until the new one is there.',
  authorize: ['admin:ManageCertificates'],
  params: CertificateParameters,
  query: Type.Object({
    force: Type.Boolean({
      default: false,
      description:
        'Also within the pause after a failed order. The limits of failures for an authority hold all the same.',
    }),
  }),
  response: Certificate,
  isJob: true,
  errors: ['certificate_not_found', 'conflict', 'too_many_requests'],
  uses: ['certificates'],
  async handle({ params: { id }, query: { force } }, { certificates }) {
    return describeCertificate(await certificates.renew(id, { force }))
  },
})
