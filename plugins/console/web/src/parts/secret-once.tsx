/** A key that is shown once: to be copied, or downloaded in the form that AWS's tools read. */
import { Alert, Button, CopyButton, Group, Modal, Stack, TextInput } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { texts } from '../texts/index.ts'
import { saveAs } from './save-as.ts'

export interface SecretOnceProps {
  readonly accessKey: string
  readonly secretKey: string
  readonly onClose: () => void
}

export function SecretOnce({ accessKey, secretKey, onClose }: SecretOnceProps) {
  const file = `[default]\naws_access_key_id = ${accessKey}\naws_secret_access_key = ${secretKey}\n`
  return (
    <Modal
      opened
      onClose={onClose}
      closeOnClickOutside={false}
      title={texts.secrets.title}
      closeButtonProps={{ 'aria-label': texts.common.close }}
    >
      <Stack>
        <Alert color="orange">{texts.secrets.onlyNow}</Alert>
        <Secret label={texts.signIn.accessKey} value={accessKey} />
        <Secret label={texts.signIn.secretKey} value={secretKey} />
        <Group justify="flex-end" className="dialog-buttons">
          <Button
            variant="default"
            onClick={() => saveAs('credentials', file)}
            leftSection={<IconDownload size={16} aria-hidden />}
          >
            {texts.secrets.download}
          </Button>
          <Button onClick={onClose}>{texts.secrets.kept}</Button>
        </Group>
      </Stack>
    </Modal>
  )
}

function Secret({ label, value }: { label: string; value: string }) {
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
