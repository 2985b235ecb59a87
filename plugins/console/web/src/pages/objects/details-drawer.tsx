/** One object: what is known of it, and what can be done with it. */
import { Button, Code, Drawer, Group, Skeleton, Stack, Table, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconDownload, IconLink } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { urlOf } from '../../api/client.ts'
import type { ObjectDetails } from '../../api/operations.ts'
import { ProblemAlert } from '../../parts/failure.tsx'
import { formatBytes, formatDate } from '../../parts/format.ts'
import { texts } from '../../texts/index.ts'
import { ShareObject } from '../shares/share-object.tsx'
import { detailsQuery } from './queries.ts'

export interface DetailsDrawerProps {
  readonly bucket: string
  readonly objectKey: string
  readonly onClose: () => void
}

export function DetailsDrawer({ bucket, objectKey, onClose }: DetailsDrawerProps) {
  const { data, error, refetch } = useQuery(detailsQuery(bucket, objectKey))
  const [isSharing, { open, close }] = useDisclosure()
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      title={objectKey}
      closeButtonProps={{ 'aria-label': texts.common.close }}
    >
      <Stack>
        <Group gap="xs">
          <Button
            component="a"
            href={urlOf('downloadObject', { bucket }, { key: objectKey })}
            download
            leftSection={<IconDownload size={16} aria-hidden />}
          >
            {texts.objects.download}
          </Button>
          <Button variant="default" leftSection={<IconLink size={16} aria-hidden />} onClick={open}>
            {texts.objects.share}
          </Button>
        </Group>
        {error !== null && <ProblemAlert error={error} onRetry={() => refetch()} />}
        {data === undefined && error === null && <Skeleton h={200} />}
        {data !== undefined && <Details details={data} />}
      </Stack>
      {isSharing && <ShareObject bucket={bucket} objectKey={objectKey} onClose={close} />}
    </Drawer>
  )
}

function Details({ details }: { details: ObjectDetails }) {
  const facts: [string, string | undefined][] = [
    [texts.common.size, `${formatBytes(details.size)} (${details.size.toLocaleString('en')} B)`],
    [texts.common.modified, formatDate(details.lastModified)],
    [texts.objects.type, details.contentType],
    [texts.objects.etag, details.etag],
    [texts.objects.version, details.versionId],
    [texts.objects.checksum, details.checksum && `${details.checksumAlgorithm} ${details.checksum}`],
    [texts.objects.encryption, details.encryption?.type ?? texts.objects.notEncrypted],
  ]
  return (
    <>
      <Facts facts={facts} />
      <Section title={texts.objects.metadata} entries={details.userMetadata as Record<string, string>} />
      <Section title={texts.objects.tags} entries={(details.tags ?? {}) as Record<string, string>} />
    </>
  )
}

function Section({ title, entries }: { title: string; entries: Record<string, string> }) {
  const facts = Object.entries(entries)
  if (facts.length === 0) return null
  return (
    <div>
      <Text fw={600} size="sm">
        {title}
      </Text>
      <Facts facts={facts} />
    </div>
  )
}

function Facts({ facts }: { facts: readonly (readonly [string, string | undefined])[] }) {
  return (
    <Table>
      <Table.Tbody>
        {facts
          .filter(([, value]) => value !== undefined && value !== '')
          .map(([name, value]) => (
            <Table.Tr key={name}>
              <Table.Th w={120}>{name}</Table.Th>
              <Table.Td>
                <Code>{value}</Code>
              </Table.Td>
            </Table.Tr>
          ))}
      </Table.Tbody>
    </Table>
  )
}
