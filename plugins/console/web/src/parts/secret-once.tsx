/** Secrets that are shown once: to be copied, or a key downloaded in the form that AWS's tools read. */
import { Alert, Button, CopyButton, Group, Modal, Stack, TextInput } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import type { S3Place } from '../api/session.ts'
import { useSignedIn } from '../app/signed-in.ts'
import { texts } from '../texts/index.ts'
import { Copyable } from './copyable.tsx'
import { useFocusBack } from './focus-back.ts'
import { inShell } from './in-shell.ts'
import { environmentOf } from './s3-environment.ts'
import { saveAs } from './save-as.ts'
import { useShowSecret } from './secrets-in-turn.ts'
import { Unsaved } from './unsaved.tsx'

interface MadeKey {
  readonly accessKey: string
  readonly secretKey: string
}

/** Shows it until somebody says that it is kept, on whatever page that is. */
export function useShowKey(): (made: MadeKey) => void {
  const show = useShowSecret()
  return ({ accessKey, secretKey }) =>
    show(onKept => <SecretOnce accessKey={accessKey} secretKey={secretKey} onClose={onKept} />)
}

interface SecretOnceProps extends MadeKey {
  readonly onClose: () => void
}

function SecretOnce({ accessKey, secretKey, onClose }: SecretOnceProps) {
  const { s3 } = useSignedIn()
  const file = `[default]\naws_access_key_id = ${accessKey}\naws_secret_access_key = ${secretKey}\n`
  const download = (
    <Button
      variant="default"
      onClick={() => saveAs('credentials', file)}
      leftSection={<IconDownload size={16} aria-hidden />}
    >
      {texts.secrets.download}
    </Button>
  )
  return (
    <ShownOnce title={texts.secrets.title} text={texts.secrets.onlyNow} more={download} onClose={onClose}>
      <Secret label={texts.signIn.accessKey} value={accessKey} />
      <Secret label={texts.signIn.secretKey} value={secretKey} />
      {s3 !== undefined && (
        <>
          <Secret label={texts.secrets.endpoint} value={s3.endpoint} />
          <Secret label={texts.secrets.region} value={s3.region} />
          <Copyable label={texts.secrets.environment} text={environmentWithKey(accessKey, secretKey, s3)} />
        </>
      )}
    </ShownOnce>
  )
}

export interface ShownOnceProps {
  readonly title: string
  readonly text: string
  /** Beside the button that closes it. */
  readonly more?: ReactNode
  readonly onClose: () => void
  readonly children: ReactNode
}

export function ShownOnce({ title, text, more, onClose, children }: ShownOnceProps) {
  useFocusBack()
  return (
    <Modal
      opened
      onClose={onClose}
      // It is lost with the dialog: only whoever says that it is kept closes it.
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
      size="lg"
      title={title}
    >
      <Stack>
        <Alert color="orange">{text}</Alert>
        {children}
        <Unsaved isDirty isQuiet words={{ title: texts.secrets.leaveTitle, text: texts.secrets.leaveText }} />
        <Group justify="flex-end" className="dialog-buttons">
          {more}
          <Button onClick={onClose}>{texts.secrets.kept}</Button>
        </Group>
      </Stack>
    </Modal>
  )
}

export function Secret({ label, value }: { label: string; value: string }) {
  return (
    <Group align="flex-end" wrap="nowrap" gap="xs">
      <TextInput
        styles={{ input: { fontFamily: 'monospace' } }}
        label={label}
        value={value}
        readOnly
        flex={1}
        onFocus={event => event.currentTarget.select()}
      />
      <CopyButton value={value}>
        {({ copied, copy }) => (
          <Button variant="default" onClick={copy} aria-label={`${texts.common.copy} ${label}`}>
            {copied ? texts.common.copied : texts.common.copy}
          </Button>
        )}
      </CopyButton>
    </Group>
  )
}

const environmentWithKey = (accessKey: string, secretKey: string, s3: S3Place): string =>
  [
    `export AWS_ACCESS_KEY_ID=${inShell(accessKey)}`,
    `export AWS_SECRET_ACCESS_KEY=${inShell(secretKey)}`,
    environmentOf(s3),
  ].join('\n')
