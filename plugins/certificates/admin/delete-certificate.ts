import { defineAdminOperation } from 'svc/plugins/admin/api'
import '../api.ts'
import { CertificateParameters } from './certificate-schema.ts'

export default defineAdminOperation({
  id: 'deleteCertificate',
  method: 'DELETE',
  path: '/certificates/{id}',
  tag: 'certificates',
  summary: 'Deletes an unused certificate, with its key.',
  authorize: ['admin:ManageCertificates'],
  params: CertificateParameters,
  errors: ['certificate_in_use', 'certificate_not_found', 'conflict'],
  uses: ['certificates'],
  handle: ({ params: { id } }, { certificates }) => certificates.delete(id),
})
