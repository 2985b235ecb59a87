/** Save and discard what is changed on a page: at the foot of the window, wherever one has scrolled, as long as something is changed. */
import { Button, Container, Group, Text } from '@mantine/core'
import { useEffect, useState } from 'react'
import { texts } from '../texts/index.ts'
import { focused } from './focus-back.ts'
import { LeaveQuestion } from './unsaved.tsx'

export interface SaveBarProps {
  readonly isSaving: boolean
  /** Absent within the form: the button submits it. */
  readonly onSave?: () => void
  readonly onDiscard: () => void
}

export function SaveBar({ isSaving, onSave, onDiscard }: SaveBarProps) {
  const [isAsking, setAsking] = useState(false)
  // The button that had the focus goes with the bar.
  useEffect(() => {
    const tab = document.querySelector<HTMLElement>('main [role=tab][aria-selected=true]')
    return () =>
      void setTimeout(() => {
        if (focused() === undefined && tab?.isConnected === true) tab.focus({ preventScroll: true })
      })
  }, [])
  return (
    <div className="save-bar">
      <Container size="xl" p={0}>
        <Group justify="space-between" wrap="nowrap" gap="xs">
          <Text size="sm">{texts.common.unsaved}</Text>
          <Group gap="xs" wrap="nowrap">
            <Button variant="default" disabled={isSaving} onClick={() => setAsking(true)}>
              {texts.common.discardChanges}
            </Button>
            <Button loading={isSaving} {...(onSave === undefined ? { type: 'submit' } : { onClick: onSave })}>
              {texts.common.save}
            </Button>
          </Group>
        </Group>
      </Container>
      {isAsking && (
        <LeaveQuestion
          title={texts.common.discardTitle}
          text={texts.common.discardText}
          leave={texts.common.discardChanges}
          stay={texts.common.keepEditing}
          onStay={() => setAsking(false)}
          onLeave={() => {
            setAsking(false)
            onDiscard()
          }}
        />
      )}
    </div>
  )
}
