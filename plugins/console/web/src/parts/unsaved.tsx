/** Asks before what somebody has typed, and not saved, is lost: by another page, by a reload, or by closing the window. */
import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useBlocker } from '@tanstack/react-router'
import { texts } from '../texts/index.ts'

/** Beside the form; does nothing as long as nothing is changed. */
export function Unsaved({ isDirty }: { isDirty: boolean }) {
  const blocker = useBlocker({
    // Whose session has ended has to sign in, whatever is not saved.
    shouldBlockFn: ({ next }) => isDirty && !next.pathname.endsWith('/sign-in'),
    enableBeforeUnload: () => isDirty,
    withResolver: true,
  })
  if (!isDirty) return null
  return (
    <>
      <Text size="sm" c="dimmed">
        {texts.common.unsaved}
      </Text>
      {blocker.status === 'blocked' && (
        <Modal
          opened
          onClose={blocker.reset}
          title={texts.common.leaveTitle}
          closeButtonProps={{ 'aria-label': texts.common.close }}
        >
          <Stack>
            <Text size="sm">{texts.common.leaveText}</Text>
            <Group justify="flex-end" className="dialog-buttons">
              <Button variant="default" data-autofocus onClick={blocker.reset}>
                {texts.common.stay}
              </Button>
              <Button color="red" onClick={blocker.proceed}>
                {texts.common.leave}
              </Button>
            </Group>
          </Stack>
        </Modal>
      )}
    </>
  )
}
