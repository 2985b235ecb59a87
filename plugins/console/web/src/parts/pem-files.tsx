/** Takes a certificate and its key from files: chosen, or dropped here. They are read in the browser. */
import { Button, FileButton, Text } from '@mantine/core'
import { IconFileUpload } from '@tabler/icons-react'
import { type DragEvent, useState } from 'react'
import { pem as words } from '../texts/en/pem.ts'
import { type Pem, pemBytesMax, pemOf } from './pem.ts'
import { shownText } from './shown-text.ts'

const zone = {
  display: 'flex',
  flexWrap: 'wrap',
  gap: '8px 12px',
  alignItems: 'center',
  padding: 12,
  border: '1px dashed var(--mantine-color-default-border)',
  borderRadius: 'var(--mantine-radius-md)',
} as const

export interface PemFilesProps {
  /** What is empty was in none of the files. */
  readonly onRead: (pem: Pem) => void
}

export function PemFiles({ onRead }: PemFilesProps) {
  const [isOver, setOver] = useState(false)
  const [said, setSaid] = useState<{ readonly text: string; readonly isBad: boolean }>()
  const read = async (files: readonly File[]) => {
    if (files.length === 0) return
    const pems = await Promise.all(
      files.map(async file => (file.size > pemBytesMax ? undefined : pemOf(await file.text()))),
    )
    const without = files.filter((_, index) => !pems[index]?.certificate && !pems[index]?.privateKey)
    const all = (of: keyof Pem) =>
      pems
        .map(pem => pem?.[of] ?? '')
        .filter(text => text !== '')
        .join('\n')
    const pem = { certificate: all('certificate'), privateKey: all('privateKey') }
    if (without.length < files.length) onRead(pem)
    setSaid({
      text:
        without.length > 0
          ? words.noPem(without.map(({ name }) => shownText(name)).join(', '))
          : words.pemRead(pem.certificate !== '', pem.privateKey !== ''),
      isBad: without.length > 0,
    })
  }
  const over = (event: DragEvent) => {
    event.preventDefault()
    setOver(true)
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: files are dropped on it; the button beside does the same
    <div
      className="pem-files"
      style={isOver ? { ...zone, background: 'var(--mantine-primary-color-light)' } : zone}
      onDragEnter={over}
      onDragOver={over}
      onDragLeave={() => setOver(false)}
      onDrop={event => {
        event.preventDefault()
        setOver(false)
        void read([...event.dataTransfer.files])
      }}
    >
      <FileButton multiple accept=".pem,.crt,.cer,.key,.txt" onChange={files => void read(files)}>
        {props => (
          <Button {...props} variant="default" size="compact-sm" leftSection={<IconFileUpload size={16} aria-hidden />}>
            {words.chooseFiles}
          </Button>
        )}
      </FileButton>
      <Text size="sm" c={said?.isBad === true ? 'red' : 'dimmed'} role="status">
        {said?.text ?? words.dropPem}
      </Text>
    </div>
  )
}
