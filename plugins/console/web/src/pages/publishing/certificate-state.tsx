/** The certificate of a distribution with its state and end, for whoever may see certificates. */
import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useMay } from '../../app/signed-in.ts'
import { formatDate } from '../../parts/format.ts'
import { State, Titled } from '../../parts/names.tsx'
import { texts } from '../../texts/index.ts'
import { certificateStates } from './states.ts'

const words = texts.certificateState
/** Maximum number of certificates that are read; the state of further ones is not shown, only their names. */
const certificatesRead = 1000

type Distribution = Answer<'listDistributions'>['items'][number]

/** Undefined where there is none, and for whoever may not see certificates. */
export function useCertificateOf({ id, tls }: Distribution) {
  const { data: certificates = [] } = useQuery({
    queryKey: ['certificates', 'all'],
    queryFn: async ({ signal }) =>
      (await call('listCertificates', { query: { limit: certificatesRead }, signal })).items,
    enabled: useMay('admin:ManageCertificates') && tls.certificate !== 'none',
  })
  // One that is ordered for a distribution has its name.
  const name = tls.certificate === 'auto' ? id : tls.certificate
  return tls.certificate === 'none' ? undefined : certificates.find(certificate => certificate.id === name)
}

export function CertificateState({ of }: { of: Distribution }) {
  const { tls } = of
  const found = useCertificateOf(of)
  if (tls.certificate === 'none') {
    return (
      <Text size="sm" c="dimmed">
        {words.none}
      </Text>
    )
  }
  if (found === undefined) return <Text size="sm">{tls.certificate}</Text>
  const { state, notAfter, acme } = found
  const note =
    acme !== undefined && acme.lastError !== ''
      ? acme.lastError
      : notAfter === ''
        ? ''
        : words.until(formatDate(notAfter))
  return (
    <Titled
      name={<State text={texts.publishing.states[state]} is={certificateStates[state]} />}
      note={note}
      isBad={note === acme?.lastError}
    />
  )
}
