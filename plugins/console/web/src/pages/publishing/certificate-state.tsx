/** The certificates that visitors of a distribution get, with their states and ends, whether it names them or not. */
import { Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Answer } from '../../api/operations.ts'
import { useMay } from '../../app/signed-in.ts'
import { formatDate } from '../../parts/format.ts'
import { State, Titled } from '../../parts/names.tsx'
import { texts } from '../../texts/index.ts'
import { certificatesMs } from './awaited.ts'
import { certificatesQuery } from './queries.ts'
import { certificateStates, stateText } from './states.ts'

const words = texts.certificateState

type Distribution = Answer<'listDistributions'>['items'][number]
type Certificate = Answer<'listCertificates'>['items'][number]

/** Undefined where there is none, and for whoever may not see certificates. */
function useCertificateOf({ id, tls }: Distribution) {
  // One that is ordered for a distribution has its name.
  const name = tls.certificate === 'auto' ? id : tls.certificate
  const own = (certificates: readonly Certificate[] = []) => certificates.find(certificate => certificate.id === name)
  const { data } = useQuery({
    ...certificatesQuery,
    enabled: useMay('admin:ManageCertificates') && tls.certificate !== 'none',
    refetchInterval: ({ state }) => tls.certificate === 'auto' && isAwaited(own(state.data)) && certificatesMs,
  })
  return tls.certificate === 'none' ? undefined : own(data)
}

/** One whose order failed is ordered again by itself. */
const isAwaited = (ordered: Certificate | undefined): boolean =>
  ordered === undefined || ordered.state === 'pending' || ordered.state === 'failed'

type Served = Distribution['served'][number]

export function CertificateState({ of }: { of: Distribution }) {
  const { aliases, served, tls } = of
  const found = useCertificateOf(of)
  const groups = [...Map.groupBy(served, ({ certificate }) => certificate).values()]
  const isOwnServed = found !== undefined && served.some(({ certificate }) => certificate === found.id)
  const without = aliases.filter(alias => !served.some(({ domain }) => domain === alias))
  if (tls.certificate === 'none' && served.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        {words.none}
      </Text>
    )
  }
  return (
    <Stack gap={4} align="flex-start">
      {tls.certificate !== 'none' && !isOwnServed && <Own found={found} name={tls.certificate} />}
      {groups.map(group => (
        <ServedTo key={group[0]!.certificate} of={group} isAll={group.length === aliases.length} own={found} />
      ))}
      {served.length > 0 && without.length > 0 && (
        <Text size="xs" c="dimmed">
          {words.noneFor(without.join(', '))}
        </Text>
      )}
    </Stack>
  )
}

/** Of one that the distribution names and nobody is served. */
function Own({ found, name }: { found: Certificate | undefined; name: string }) {
  if (found === undefined) return <Text size="sm">{name}</Text>
  const { id, state, acme } = found
  const text = stateText(found, acme !== undefined)
  return <Lines name={id} state={state} text={text} notes={[endOf(found)]} problem={problemOf(found)} />
}

function ServedTo({ of, isAll, own }: { of: readonly Served[]; isAll: boolean; own: Certificate | undefined }) {
  const { certificate, state, notAfter } = of[0]!
  const unfit = of.filter(({ covers }) => !covers).map(({ domain }) => domain)
  const domains = isAll ? '' : words.for(of.map(({ domain }) => domain).join(', '))
  const problem = unfit.length > 0 ? words.notCovered(unfit.join(', ')) : own?.id === certificate ? problemOf(own) : ''
  const text = stateText({ state, notAfter }, true)
  const notes = [domains, endOf({ notAfter })]
  return <Lines name={certificate} state={state} text={text} notes={notes} problem={problem} />
}

const problemOf = ({ acme }: Certificate) => acme?.lastError ?? ''
const endOf = ({ notAfter }: Pick<Certificate, 'notAfter'>) =>
  notAfter === '' ? '' : words.until(formatDate(notAfter))

interface LinesProps {
  readonly name: string
  readonly state: Certificate['state']
  /** The state in words. */
  readonly text: string
  readonly notes: readonly string[]
  readonly problem: string
}

function Lines({ name, state, text, notes, problem }: LinesProps) {
  return (
    <div>
      <Titled
        name={<State text={words.served(name, text)} is={problem === '' ? certificateStates[state] : 'bad'} />}
        note={notes.filter(note => note !== '').join(', ')}
      />
      {problem !== '' && (
        <Text size="xs" c="red">
          {problem}
        </Text>
      )}
    </div>
  )
}
