/** Where visitors find a distribution: its domains, each with the scheme and the port that work there. */
import { Alert, Anchor, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useMay } from '../../app/signed-in.ts'
import { texts } from '../../texts/index.ts'
import { serverInfoQuery } from '../overview/queries.ts'
import { domainsWithTls } from './awaited.ts'

export type Distribution = Answer<'listDistributions'>['items'][number]
type Listener = Answer<'getServerInfo'>['nodes'][number]['listeners'][number]

interface Place {
  readonly scheme: 'http' | 'https'
  /** Empty where it is the scheme's usual one. */
  readonly port: string
}

/** Undefined where no listener answers for distributions. `isOnS3`: that of S3 does. */
function placeOf(isHttps: boolean, listeners: readonly Listener[], isOnS3: boolean): Place | undefined {
  const web = listeners.find(({ name }) => name === (isHttps ? 'web-tls' : 'web'))
  const found = web ?? (isOnS3 ? listeners.find(({ name, secure }) => name === 's3' && secure === isHttps) : undefined)
  if (found === undefined) return undefined
  return { scheme: isHttps ? 'https' : 'http', port: found.port === (isHttps ? 443 : 80) ? '' : `:${found.port}` }
}

/**
 * Tells the place of a domain: `none` where no listener answers, undefined as long as it is not known, and for whoever may not see the
 * listeners.
 */
export function usePlaces(of: Distribution): (alias: string) => Place | 'none' | undefined {
  const { data } = useQuery({ ...serverInfoQuery, refetchInterval: false, enabled: useMay('admin:ServerInfo') })
  const listeners = data?.nodes.find(({ local }) => local)?.listeners ?? []
  const host = of.aliases.find(alias => !alias.startsWith('*.')) ?? ''
  // One answer for all of them: whether that of S3 answers is a setting of the server.
  const onS3 = useQuery({
    queryKey: ['distributions-on-s3'],
    queryFn: async ({ signal }) => {
      const { match } = await call('resolveRoute', { query: { host, path: '/', listener: 's3' }, signal })
      return match === 'exact' || match === 'wildcard'
    },
    enabled: host !== '' && data !== undefined && !listeners.some(({ name }) => name.startsWith('web')),
  })
  const isToTls = of.redirects.some(({ httpsOnly }) => httpsOnly === true)
  const withTls = domainsWithTls(of)
  return alias => {
    if (data === undefined || onS3.isLoading) return undefined
    return placeOf(isToTls || withTls.includes(alias), listeners, onS3.data ?? false) ?? 'none'
  }
}

/** Names alone where there is no place. `isLong`: with the scheme, and a word on proxies. */
export function Addresses({ of, isLong = false }: { of: Distribution; isLong?: boolean }) {
  const places = usePlaces(of)
  const placeAt = (alias: string) => {
    const place = places(alias)
    return place === 'none' ? undefined : place
  }
  const [first = ''] = of.aliases
  const place = placeAt(first)
  const hint = place && texts.publishing.addressHint(place.port.slice(1))
  return (
    <Stack gap={0}>
      {of.aliases.map(alias => (
        <Text key={alias} size="sm" style={{ overflowWrap: 'anywhere' }}>
          <Address
            alias={alias}
            place={of.enabled && !alias.startsWith('*.') ? placeAt(alias) : undefined}
            isLong={isLong}
          />
        </Text>
      ))}
      {isLong && places(first) === 'none' && (
        <Alert color="orange" mt="xs">
          {texts.publishing.noListener}
        </Alert>
      )}
      {isLong && hint !== undefined && (
        <Text size="xs" c="dimmed">
          {hint}
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
