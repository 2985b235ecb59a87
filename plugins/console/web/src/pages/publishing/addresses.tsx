/** Where visitors find a distribution: its domains, each with the scheme and the port that work there. */
import { Anchor, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Answer } from '../../api/operations.ts'
import { useMay } from '../../app/signed-in.ts'
import { texts } from '../../texts/index.ts'
import { serverInfoQuery } from '../overview/queries.ts'
import { useCertificateOf } from './certificate-state.tsx'

type Distribution = Answer<'listDistributions'>['items'][number]
type Listener = Answer<'getServerInfo'>['nodes'][number]['listeners'][number]

interface Place {
  readonly scheme: 'http' | 'https'
  /** Empty where it is the scheme's usual one. */
  readonly port: string
}

/** Undefined where the server has no port for it. */
function placeOf(isHttps: boolean, listeners: readonly Listener[]): Place | undefined {
  const web = listeners.find(({ name }) => name === (isHttps ? 'web-tls' : 'web'))
  // Without a web listener that of S3 answers hosts.
  const found = web ?? listeners.find(({ name, secure }) => name === 's3' && secure === isHttps)
  if (found === undefined) return undefined
  return { scheme: isHttps ? 'https' : 'http', port: found.port === (isHttps ? 443 : 80) ? '' : `:${found.port}` }
}

/** Names alone for whoever may not see where the server listens. `isLong`: with the scheme, and a word on proxies. */
export function Addresses({ of, isLong = false }: { of: Distribution; isLong?: boolean }) {
  const { data } = useQuery({ ...serverInfoQuery, refetchInterval: false, enabled: useMay('admin:ServerInfo') })
  const certificate = useCertificateOf(of)
  const isHttps =
    of.redirects.some(({ httpsOnly }) => httpsOnly === true) ||
    certificate?.state === 'valid' ||
    certificate?.state === 'expiring'
  const place = data && placeOf(isHttps, data.nodes.find(({ local }) => local)?.listeners ?? [])
  return (
    <Stack gap={0}>
      {of.aliases.map(alias => (
        <Text key={alias} size="sm" style={{ overflowWrap: 'anywhere' }}>
          <Address alias={alias} place={of.enabled && !alias.startsWith('*.') ? place : undefined} isLong={isLong} />
        </Text>
      ))}
      {isLong && place !== undefined && (
        <Text size="xs" c="dimmed">
          {texts.publishing.addressHint(place.port.slice(1))}
        </Text>
      )}
    </Stack>
  )
}

function Address({ alias, place, isLong }: { alias: string; place: Place | undefined; isLong: boolean }) {
  if (place === undefined) return alias
  const address = `${place.scheme}://${alias}${place.port}/`
  return (
    <Anchor href={address} target="_blank" rel="noreferrer" inherit>
      {isLong ? address : alias + place.port}
    </Anchor>
  )
}
