import { decodeCursor, defineAdminOperation, encodeCursor, pageOf, pageParameters } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import '../api.ts'
import { covers } from '../names.ts'
import { Certificate, CertificateState, describeCertificate } from './certificate-schema.ts'

export default defineAdminOperation({
  id: 'listCertificates',
  method: 'GET',
  path: '/certificates',
  tag: 'certificates',
  summary:
    'Lists certificates by id: uploaded ones, ordered ones, and the files of SVC_CERTS_DIR. Keys are never shown.',
  authorize: ['admin:ManageCertificates'],
  query: Type.Object({
    domain: Type.Optional(Type.String({ minLength: 1, maxLength: 253, description: 'Those that are for this name.' })),
    state: Type.Optional(CertificateState),
    ...pageParameters,
  }),
  response: pageOf(Certificate),
  uses: ['certificates'],
  async handle({ query: { domain, state, cursor, limit } }, { certificates }) {
    const after = decodeCursor(cursor)
    const name = domain?.toLowerCase()
    const found = (await certificates.list()).filter(
      certificate =>
        (after === undefined || certificate.id > after) &&
        (state === undefined || certificate.state === state) &&
        (name === undefined || certificate.domains.some(pattern => covers(pattern, name))),
    )
    const page = found.slice(0, limit)
    return {
      items: page.map(describeCertificate),
      nextCursor: encodeCursor(found.length > page.length ? page.at(-1)!.id : undefined),
    }
  },
})
