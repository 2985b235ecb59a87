/** How far drives and sets are rebuilt. */
import { Anchor, Stack, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { Answer } from '../../api/operations.ts'
import { useMay } from '../../app/signed-in.ts'
import { formatBytes, formatCount } from '../../parts/format.ts'
import { ProgressBar } from '../../parts/progress-bar.tsx'
import { texts } from '../../texts/index.ts'
import { replacingTexts } from '../../texts/replacing.ts'
import type { Drive } from '../overview/queries.ts'

const words = texts.drives
const { steps } = replacingTexts

type Redundancy = Answer<'getRedundancy'>

export type SetRedundancy = Redundancy['sets'][number]

export const redundancyOf = (all: Redundancy | undefined, pool: number, set: number): SetRedundancy | undefined =>
  all?.sets.find(one => one.pool === pool && one.set === set)

/** How much of a set has all of its shards. */
export function Whole({ redundancy }: { redundancy: SetRedundancy | undefined }) {
  const mayHeal = useMay('admin:Heal')
  if (redundancy === undefined) return null
  const { isFull, hasFoundDamage, records, bytes, belowBytes, belowRecords, failingRecords, summary } = redundancy
  const label = isFull
    ? records === 0
      ? steps.empty
      : steps.whole
    : belowRecords > 0 && !hasFoundDamage
      ? steps.below(belowRecords, formatBytes(belowBytes))
      : steps.notWhole(summary)
  return (
    <Stack gap={4}>
      <Text size="sm">{label}</Text>
      {failingRecords > 0 &&
        (mayHeal ? (
          <Anchor component={Link} to="/healing" size="sm">
            {texts.overview.mayBeLost(failingRecords)}
          </Anchor>
        ) : (
          <Text size="sm">{texts.overview.mayBeLost(failingRecords)}</Text>
        ))}
      <ProgressBar
        value={belowRecords === 0 ? 100 : bytes === 0 ? 0 : ((bytes - belowBytes) / bytes) * 100}
        color={isFull ? 'teal' : 'orange'}
        aria-label={label}
      />
    </Stack>
  )
}

/** The progress of a drive's rebuild since it was found empty or damaged. */
export function progressOf({ healingProgress }: Drive): string | undefined {
  if (healingProgress === undefined) return undefined
  const { bytesDone, objectsHealed } = healingProgress
  return words.done(formatBytes(bytesDone), formatCount(objectsHealed))
}
