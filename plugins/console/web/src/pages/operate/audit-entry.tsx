/** One entry of the audit, with everything that it has. */
import { Drawer, Stack } from '@mantine/core'
import type { Answer } from '../../api/operations.ts'
import { Copyable } from '../../parts/copyable.tsx'
import { Facts } from '../../parts/facts.tsx'
import { shownJson, shownText } from '../../parts/shown-text.ts'
import { texts } from '../../texts/index.ts'

const words = texts.operate

export interface AuditEntryProps {
  /** Undefined while none is open: a panel that stays gives the focus back when it closes. */
  readonly entry: Answer<'searchAudit'>['items'][number] | undefined
  readonly onClose: () => void
}

export function AuditEntry({ entry, onClose }: AuditEntryProps) {
  return (
    <Drawer
      opened={entry !== undefined}
      onClose={onClose}
      position="right"
      size="lg"
      title={entry && shownText(words.auditEntry(entry.api, entry.status))}
      closeButtonProps={{ 'aria-label': texts.common.close }}
    >
      {entry !== undefined && (
        <Stack>
          <Facts facts={factsOf(entry)} />
          <Copyable label={words.asJson} text={shownJson(entry)} />
        </Stack>
      )}
    </Drawer>
  )
}

/** By the names that exports and audit targets have. */
function factsOf(value: object, within = ''): (readonly [name: string, value: string])[] {
  return Object.entries(value).flatMap(([name, one]) =>
    typeof one === 'object' && one !== null
      ? factsOf(one, `${within}${name}.`)
      : [[`${within}${name}`, String(one)] as const],
  )
}
