import { checkField, defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import '../api.ts'
import { Certificate, CertificateId, describeSaved, madeByServer, uploadFields } from './certificate-schema.ts'

const CertificateUpload = Type.Object(
  { id: CertificateId, ...uploadFields, ...madeByServer },
  { $id: 'CertificateUpload' },
)

export default defineAdminOperation({
  id: 'createCertificate',
  method: 'POST',
  path: '/certificates',
  tag: 'certificates',
  summary:
    'Uploads a certificate with its key. From the next handshake on it is presented to clients that connect to one of its names.',
  authorize: ['admin:ManageCertificates'],
  body: CertificateUpload,
  response: Certificate,
  location: ({ id }) => `/certificates/${id}`,
  errors: ['already_exists', 'conflict', 'invalid_certificate'],
  uses: ['certificates'],
  async handle({ body: { id, certificate, privateKey, comment } }, { certificates }) {
    return describeSaved(
      await checkField('/id', () => certificates.upload(id, { certificate, privateKey, comment }), ['already_exists']),
    )
  },
})
