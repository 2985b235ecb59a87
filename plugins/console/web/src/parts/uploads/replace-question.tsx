/** Which objects uploads would replace for good, and what to do about it. */
import { Button, Code, Group, Loader, Modal, ScrollArea, Stack, Text } from '@mantine/core'
import { useEffect, useState } from 'react'
import { texts } from '../../texts/index.ts'
import { focusable } from '../item-table.tsx'
import type { Replacing } from './replacing.ts'

const words = texts.uploads
const keysShownMax = 100
/** A look that takes no longer shows nothing. */
const patienceMs = 400

export function ReplaceQuestion({ bucket, files, isCut, found, versioning, replace, skip, cancel }: Replacing) {
  const [isLate, setLate] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), patienceMs)
    return () => clearTimeout(timer)
  }, [])
  if (found === undefined && !isLate && !isCut) return null
  return (
    <Modal
      opened
      onClose={cancel}
      size="lg"
      closeOnClickOutside={false}
      title={found === undefined ? words.lookTitle : words.replaceTitle(found.length)}
      closeButtonProps={{ 'aria-label': texts.common.close }}
    >
      <Stack>
        {found === undefined ? (
          <Group gap="sm" wrap="nowrap" role="status">
            <Loader size="sm" />
            <Text size="sm">{isCut ? words.lookCut : words.look(files)}</Text>
          </Group>
        ) : (
          <>
            <Text size="sm">{words.replaceText(bucket, versioning)}</Text>
            <ScrollArea.Autosize mah={200} {...focusable}>
              <Stack gap={4} align="flex-start">
                {found.slice(0, keysShownMax).map(key => (
                  <Code key={key} style={{ overflowWrap: 'anywhere' }}>
                    {key}
                  </Code>
                ))}
                {found.length > keysShownMax && (
                  <Text size="sm">{texts.problems.morePlaces(found.length - keysShownMax)}</Text>
                )}
              </Stack>
            </ScrollArea.Autosize>
          </>
        )}
        <Group justify="flex-end" className="dialog-buttons">
          <Button variant="default" onClick={cancel} {...(found !== undefined && { 'data-autofocus': true })}>
            {found === undefined ? texts.common.cancel : words.replaceCancel}
          </Button>
          {found !== undefined && found.length < files && (
            <Button variant="default" onClick={skip}>
              {words.skip(files - found.length)}
            </Button>
          )}
          {found !== undefined && (
            <Button color="red" onClick={replace}>
              {words.replace(found.length)}
            </Button>
          )}
        </Group>
      </Stack>
    </Modal>
  )
}
