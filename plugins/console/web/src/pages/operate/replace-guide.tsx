/** How a drive is replaced, step by step, and how far its rebuild is. */
import { Alert, Code, Drawer, List, Stack, Text } from '@mantine/core'
import { useFocusBack } from '../../parts/focus-back.ts'
import { texts } from '../../texts/index.ts'
import { replacingTexts as words } from '../../texts/replacing.ts'
import type { Drive, ServerInfo } from '../overview/queries.ts'
import { isDamaged, spareText } from './may-fail.ts'
import { progressOf, type SetRedundancy, Whole } from './rebuild.tsx'
import { diskCommands, folderCommands } from './replace-commands.ts'

const { steps } = words

export interface ReplaceGuideProps {
  readonly drive: Drive
  readonly pool: ServerInfo['pools'][number]
  readonly redundancy: SetRedundancy | undefined
  /** Drives of its set share a file system. */
  readonly isShared: boolean
  /** They are folders of one file system. */
  readonly areFolders: boolean
  readonly onClose: () => void
}

export function ReplaceGuide({ drive, pool, redundancy, isShared, areFolders, onClose }: ReplaceGuideProps) {
  useFocusBack()
  const { path, error, setIdx, state, healing } = drive
  const set = pool.erasureSets.find(({ index }) => index === setIdx)!
  const { offline, healing: rebuilding, leastParity, state: setState } = set
  const progress = progressOf(drive)
  // The one to be replaced is one of those that are missing, now or soon.
  const isMissing = state !== 'online' || healing
  const spareOf = (parity: number) => parity - offline - rebuilding - (isMissing ? 0 : 1)
  const [spare, least] = [spareOf(pool.parity), spareOf(leastParity)]
  const isWeak = isDamaged(redundancy) || (offline + rebuilding === 0 && redundancy?.isFull === false)
  const does = !isMissing ? 'works' : healing ? 'rebuilt' : 'away'
  // It may have what the others lack.
  const isNeeded = isWeak && does !== 'rebuilt' && pool.parity > 0
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="lg"
      title={words.guideTitle(path)}
      styles={{ title: { overflowWrap: 'anywhere' } }}
      closeButtonProps={{ 'aria-label': texts.common.close }}
    >
      <Stack>
        {pool.parity === 0 ? (
          <Alert color="orange">{words.alone}</Alert>
        ) : (
          <Alert color={least < 0 || isNeeded ? 'red' : least === 0 || isWeak ? 'orange' : 'blue'}>
            {spareText({ spare, least, drive: does, isShared, isWeak })}
            {setState === 'read_only' && ` ${words.takesNoWrites}`}
          </Alert>
        )}
        {!isMissing && !isNeeded && (spare >= 0 || pool.parity === 0) && (
          <Alert color="orange">{offline > 0 ? words.worksOthersFailed(offline) : words.works}</Alert>
        )}
        <List type="ordered" spacing="md" size="sm">
          {areFolders ? (
            <Step title={steps.look}>{steps.lookText(path, error)}</Step>
          ) : (
            <>
              <Step title={steps.find}>{steps.findText(path, error)}</Step>
              <Step title={steps.swap}>{steps.swapText}</Step>
            </>
          )}
          <Step title={areFolders ? steps.prepareFolder : steps.prepare}>
            {areFolders ? steps.prepareFolderText : steps.prepareText}
            <Code block mt={4} tabIndex={0} aria-label={words.command}>
              {areFolders ? folderCommands(path, state === 'online') : diskCommands(path)}
            </Code>
            {!areFolders && (
              <Text size="sm" mt={4}>
                {steps.plain}
              </Text>
            )}
          </Step>
          {pool.parity > 0 && (
            <Step title={steps.wait}>
              {progress !== undefined ? steps.waitRunning(progress) : areFolders ? steps.waitStarted : steps.waitNow}
              <Whole redundancy={redundancy} />
            </Step>
          )}
        </List>
      </Stack>
    </Drawer>
  )
}

function Step({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <List.Item styles={{ itemWrapper: { display: 'block' }, itemLabel: { display: 'block' } }}>
      <Text size="sm" fw={600} span display="block">
        {title}
      </Text>
      {children}
    </List.Item>
  )
}
