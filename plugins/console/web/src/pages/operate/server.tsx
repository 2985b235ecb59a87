/** What this server is, how it is, and its restart and stop. */
import { SimpleGrid, Skeleton, Stack, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { S3Place } from '../../api/session.ts'
import { useSignedIn } from '../../app/signed-in.ts'
import { Copyable } from '../../parts/copyable.tsx'
import { type Fact, Facts } from '../../parts/facts.tsx'
import { ProblemAlert } from '../../parts/failure.tsx'
import { formatDate } from '../../parts/format.ts'
import { environmentOf } from '../../parts/s3-environment.ts'
import { Section } from '../../parts/section.tsx'
import { texts } from '../../texts/index.ts'
import { Attention } from '../overview/attention.tsx'
import { type ServerInfo, serverInfoQuery } from '../overview/queries.ts'
import { Power } from './power.tsx'

const words = texts.server

export function Server() {
  const { s3 } = useSignedIn()
  const { data, error, refetch } = useQuery(serverInfoQuery)
  return (
    <Stack>
      <Title order={1} size="h2">
        {words.title}
      </Title>
      {error !== null && data === undefined && <ProblemAlert error={error} onRetry={() => refetch()} />}
      {error === null && data === undefined && <Skeleton h={320} />}
      {data !== undefined && (
        <>
          <Attention />
          <SimpleGrid cols={{ base: 1, md: 2 }}>
            <Section title={words.facts}>
              <Stack>
                <Facts facts={factsOf(data, s3)} />
                {s3 !== undefined && <Copyable label={texts.secrets.environment} text={environmentOf(s3)} />}
              </Stack>
            </Section>
            <Power startedAt={data.startedAt} />
          </SimpleGrid>
        </>
      )}
    </Stack>
  )
}

function factsOf({ nodes, tls, kms, telemetry, ...info }: ServerInfo, s3: S3Place | undefined): Fact[] {
  return [
    [words.version, info.commit === '' ? info.version : `${info.version} (${info.commit})`],
    [words.build, info.buildDate === 'unknown' ? undefined : info.buildDate],
    [words.started, formatDate(info.startedAt)],
    ...nodes.map(({ endpoint, state }): Fact => [words.node, `${endpoint}: ${words.states[state]}`]),
    [words.mode, words.modes[info.mode]],
    [texts.secrets.endpoint, s3?.endpoint, 'id'],
    [texts.secrets.region, info.region, 'id'],
    [words.deployment, info.deploymentId, 'id'],
    [words.tls, tls.enabled ? words.tlsOn(tls.minVersion) : words.tlsOff(securePortsOf(nodes))],
    ...tls.certificates.map(
      ({ name, domains, notAfter }): Fact => [
        words.certificate(name),
        words.until(domains.join(', '), notAfter && formatDate(notAfter)),
      ],
    ),
    [words.encryption, kms.configured ? kms.backend : words.noEncryption],
    [words.telemetry, telemetry.enabled ? telemetry.endpoint : words.telemetryOff],
  ]
}

/** Distributions have certificates of their own, whether or not the server has one. */
const securePortsOf = (nodes: ServerInfo['nodes']): string[] =>
  nodes.flatMap(({ listeners }) => listeners.filter(({ secure }) => secure).map(({ port }) => String(port)))
