import { defineAdminOperation } from 'svc/plugins/admin/api'
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
  response: Certificate,
  isJob: true,
  errors: ['certificate_not_found', 'conflict', 'too_many_requests'],
  uses: ['certificates'],
  async handle({ params: { id } }, { certificates }) {
    return describeCertificate(await certificates.renew(id))
  },
})
