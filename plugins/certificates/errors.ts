import { defineErrors } from 'svc/kernel'

export const certificatesErrors = defineErrors({
  invalid_certificate: { status: 400, title: 'The certificate, its chain or its key cannot be used.' },
  certificate_not_found: { status: 404, title: 'There is no such certificate.' },
  already_exists: { status: 409, title: 'There is a certificate of that name already.' },
  certificate_in_use: { status: 409, title: 'The certificate is in use.' },
  certificate_served: { status: 409, title: 'Domains would be without a certificate.' },
  conflict: { status: 409, title: 'This kind of certificate does not allow this.' },
  too_many_requests: { status: 429, title: 'The certificate authority is not asked again so soon.' },
})

export const noCertificate = (id: string): Error =>
  certificatesErrors.certificate_not_found(`There is no certificate "${id}".`, { extra: { Certificate: id } })
