import { defineAdminOperation } from 'svc/plugins/admin/api'
import '../api.ts'
import { Certificate, CertificateParameters, describeCertificate } from './certificate-schema.ts'

export default defineAdminOperation({
  id: 'getCertificate',
  method: 'GET',
  path: '/certificates/{id}',
  tag: 'certificates',
  summary: 'Returns a certificate without its key: names, dates, its users, and the state of its order.',
  authorize: ['admin:ManageCertificates'],
  params: CertificateParameters,
  response: Certificate,
  etag: true,
  errors: ['certificate_not_found'],
  uses: ['certificates'],
  async handle({ params: { id } }, { certificates }) {
    return describeCertificate(await certificates.get(id))
  },
})
