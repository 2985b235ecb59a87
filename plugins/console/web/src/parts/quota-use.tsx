/** How much of its quota a bucket takes. Parts of uploads count, which no list of objects shows: the way to where they are listed. */
import { Anchor, Stack, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { bucketContent } from '../texts/bucket-content.ts'
import { texts } from '../texts/index.ts'
import { formatBytes } from './format.ts'
import { ProgressBar } from './progress-bar.tsx'
import { useRights } from './rights.ts'

const words = bucketContent.quota

export interface QuotaUseProps {
  readonly usedBytes: number
  readonly quotaBytes: number
}

export function QuotaUse({ usedBytes, quotaBytes }: QuotaUseProps) {
  const used = Math.min(100, (usedBytes / quotaBytes) * 100)
  const label = words.used(formatBytes(usedBytes), formatBytes(quotaBytes))
  return (
    <Stack gap={2}>
      <Text size="sm" style={{ whiteSpace: 'nowrap' }}>
        {label}
      </Text>
      <ProgressBar value={used} size="sm" color={used > 90 ? 'red' : 'cyan'} aria-label={label} />
    </Stack>
  )
}

export interface PartsCountProps {
  readonly bucket: string
  /** Of the parts; undefined where it is not known. */
  readonly sizeBytes: number | undefined
}

/** That they count, how much that is, and where they are. */
export function PartsCount({ bucket, sizeBytes = 0 }: PartsCountProps) {
  if (sizeBytes === 0) return words.parts
  return (
    <>
      {words.partsNow(formatBytes(sizeBytes))} <ToUploads bucket={bucket} text={texts.bucket.tabs.uploads} />
    </>
  )
}

/** A link to the uploads of a bucket, for whoever may see them. */
export function ToUploads({ bucket, text }: { readonly bucket: string; readonly text: string }) {
  if (!useRights(bucket).has('s3:ListBucketMultipartUploads')) return text
  return (
    <Anchor
      inherit
      underline="always"
      component={Link}
      to="/buckets/$bucket"
      {...({ params: { bucket }, search: { tab: 'uploads' } } as object)}
    >
      {text}
    </Anchor>
  )
}
