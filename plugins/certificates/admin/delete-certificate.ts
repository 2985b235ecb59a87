import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import '../api.ts'
import { CertificateParameters } from './certificate-schema.ts'

export default defineAdminOperation({
  id: 'deleteCertificate',
  method: 'DELETE',
  path: '/certificates/{id}',
  tag: 'certificates',
  summary: 'Deletes a certificate that no distribution names, with its key.',
  authorize: ['admin:ManageCertificates'],
  params: CertificateParameters,
  query: Type.Object({
    force: Type.Boolean({
      default: false,
      description:
        'Also where domains of distributions that do not name it get it now, and would get none that browsers accept.',
    }),
  }),
  errors: ['certificate_in_use', 'certificate_not_found', 'certificate_served', 'conflict'],
  uses: ['certificates'],
  handle: ({ params: { id }, query: { force } }, { certificates }) => certificates.delete(id, { force }),
})
