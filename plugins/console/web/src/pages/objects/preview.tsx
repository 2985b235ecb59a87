/** What an object looks like. Nothing in it runs: pictures and films are drawn, everything else is text, or opened in a tab of its own. */
import { Box, Button, Code, Group, Image, Skeleton, Stack, Text } from '@mantine/core'
import { IconDownload, IconExternalLink } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { exchange, urlOf } from '../../api/client.ts'
import type { ObjectDetails } from '../../api/operations.ts'
import { Problem } from '../../api/problem.ts'
import { ProblemAlert } from '../../parts/failure.tsx'
import { formatBytes } from '../../parts/format.ts'
import { shownLines } from '../../parts/shown-text.ts'
import { texts } from '../../texts/index.ts'

const textBytesMax = 64 * 1024

export interface PreviewProps {
  readonly bucket: string
  readonly details: ObjectDetails
  /** Absent: the current one. */
  readonly versionId?: string | undefined
}

export function Preview({ bucket, details, versionId }: PreviewProps) {
  const { key, size, contentType = '' } = details
  const type = contentType.toLowerCase().split(';')[0]!.trim()
  const label = texts.objects.preview(key)
  const query = { key, versionId, inline: true }
  const url = urlOf('downloadObject', { bucket }, query)
  if (size === 0) return <Note>{texts.objects.empty0}</Note>
  // Text first: a picture of type SVG is a document that could run.
  if (isText(type, key)) return <TextPreview bucket={bucket} query={query} details={details} label={label} />
  if (type.startsWith('image/')) return <Drawn render={fail => <Image src={url} alt={label} onError={fail} />} />
  if (type.startsWith('video/')) {
    // biome-ignore lint/a11y/useMediaCaption: what was uploaded has none
    return <Drawn render={fail => <video src={url} controls preload="metadata" width="100%" onError={fail} />} />
  }
  if (type.startsWith('audio/')) {
    // biome-ignore lint/a11y/useMediaCaption: what was uploaded has none
    return <Drawn render={fail => <audio src={url} controls preload="metadata" onError={fail} />} />
  }
  if (type === 'application/pdf') {
    return <PdfPreview url={url} downloadUrl={urlOf('downloadObject', { bucket }, { key, versionId })} />
  }
  return <Note>{texts.objects.noPreview}</Note>
}

function isText(type: string, key: string): boolean {
  if (type.startsWith('text/') || type === 'image/svg+xml') return true
  if (/[/+](json|xml|yaml|x-yaml|javascript|toml|x-sh|sql)$/.test(type)) return true
  return (
    /^(application\/octet-stream|binary\/octet-stream|)$/.test(type) &&
    /\.(txt|md|log|json|ya?ml|toml|ini|conf|csv|tsv|xml|svg|html?|css|[cm]?[jt]sx?|py|rb|go|rs|sh|sql)$/i.test(key)
  )
}

interface LoadedProps {
  readonly bucket: string
  readonly query: { readonly key: string; readonly versionId: string | undefined; readonly inline: boolean }
  readonly label: string
}

function TextPreview({ bucket, query, details, label }: LoadedProps & { readonly details: ObjectDetails }) {
  const { size, contentEncoding = '', contentType = '' } = details
  const isEncoded = contentEncoding !== ''
  const { data, error, refetch } = useQuery({
    queryKey: ['object-text', bucket, query.key, query.versionId],
    queryFn: async ({ signal }) => {
      // The beginning of what is packed cannot be unpacked by itself: all of it is asked for, and left when there is enough.
      const headers: Record<string, string> = isEncoded ? {} : { range: `bytes=0-${textBytesMax - 1}` }
      try {
        const response = await exchange('downloadObject', { params: { bucket }, query, headers, signal })
        return await readBeginning(response, decoderOf(contentType))
      } catch (error) {
        // Browsers say the same of bytes that are not packed as the object says, and of a server that does not answer.
        const isUnreadable = !signal.aborted && (error instanceof TypeError || isUnreachable(error))
        throw isEncoded && isUnreadable ? new Error(texts.objects.cannotShow) : error
      }
    },
    staleTime: 0,
    gcTime: 0,
  })
  if (error !== null) return <ProblemAlert error={error} onRetry={refetch} />
  if (data === undefined) return <Skeleton h={200} />
  const isCut = data.isCut || (!isEncoded && size > textBytesMax)
  return (
    <Stack gap="xs">
      {isCut && (
        <Text size="sm" c="dimmed">
          {isEncoded
            ? texts.objects.beginningUnpacked(formatBytes(textBytesMax))
            : texts.objects.beginning(formatBytes(textBytesMax), formatBytes(size))}
        </Text>
      )}
      <Code
        block
        mah="60vh"
        style={{ overflow: 'auto', whiteSpace: 'pre-wrap' }}
        tabIndex={0}
        role="region"
        aria-label={label}
      >
        {shownLines(data.text)}
      </Code>
    </Stack>
  )
}

const isUnreachable = (error: unknown) => error instanceof Problem && error.status === 0

/** By the charset that the object says; UTF-8 for what says none, or one that browsers do not know. */
function decoderOf(contentType: string): TextDecoder {
  const charset = /;\s*charset="?([^\s;"]+)/i.exec(contentType)?.[1]
  try {
    return new TextDecoder(charset)
  } catch {
    return new TextDecoder()
  }
}

/** Whatever its bytes unpack to, no more is kept than is shown, and no more is fetched than browsers read ahead. */
async function readBeginning(
  { body }: Response,
  decoder: TextDecoder,
): Promise<{ readonly text: string; readonly isCut: boolean }> {
  const reader = body?.getReader()
  let text = ''
  let bytesLeft = textBytesMax
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
    if (done || value === undefined) return { text: text + decoder.decode(), isCut: false }
    text += decoder.decode(value.subarray(0, bytesLeft), { stream: true })
    if (value.length > bytesLeft) break
    bytesLeft -= value.length
  }
  await reader?.cancel()
  return { text, isCut: true }
}

/**
 * Not shown here: viewers of browsers run the scripts of a document, whose questions would look like those of the console, and follow its
 * links in the page around it. A tab of its own has no way back to this one, and the sandbox of every answer of stored bytes.
 */
function PdfPreview({ url, downloadUrl }: { url: string; downloadUrl: string }) {
  return (
    <Stack py="lg" gap="sm">
      <Text c="dimmed">{texts.objects.pdf}</Text>
      <Group>
        <Button
          component="a"
          href={url}
          target="_blank"
          rel="noopener noreferrer"
          leftSection={<IconExternalLink size={16} aria-hidden />}
        >
          {texts.objects.openInTab}
        </Button>
        <Button
          variant="default"
          component="a"
          href={downloadUrl}
          download
          leftSection={<IconDownload size={16} aria-hidden />}
        >
          {texts.objects.download}
        </Button>
      </Group>
    </Stack>
  )
}

function Drawn({ render }: { render: (fail: () => void) => React.ReactNode }) {
  const [isBroken, setBroken] = useState(false)
  if (isBroken) {
    return (
      <Stack gap="xs" py="lg">
        <Text c="dimmed">{texts.objects.cannotShow}</Text>
        <Group>
          <Button variant="default" size="compact-sm" onClick={() => setBroken(false)}>
            {texts.common.retry}
          </Button>
        </Group>
      </Stack>
    )
  }
  return <Box mah="70vh">{render(() => setBroken(true))}</Box>
}

function Note({ children }: { children: string }) {
  return (
    <Text c="dimmed" py="lg">
      {children}
    </Text>
  )
}
