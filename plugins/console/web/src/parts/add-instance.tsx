/** Names settings of a kind that may exist several times; their values come after. */
import { NativeSelect, TextInput } from '@mantine/core'
import { texts } from '../texts/index.ts'
import { useForm } from './form.ts'
import { FormDialog } from './form-dialog.tsx'

const words = texts.settings

/** Characters of the kind, a colon and the id. */
const nameMax = 129

export interface AddInstanceProps {
  readonly kinds: readonly string[]
  /** Resolves when it is shown. */
  readonly onChosen: (name: string) => Promise<void>
  readonly onClose: () => void
}

export function AddInstance({ kinds, onChosen, onClose }: AddInstanceProps) {
  const form = useForm({ initialValues: { kind: kinds[0] ?? '', id: '' } })
  return (
    <FormDialog
      title={words.addTitle}
      submit={texts.common.add}
      form={form}
      onSubmit={() => onChosen(`${form.values.kind}:${form.values.id.trim()}`)}
      onClose={onClose}
    >
      <NativeSelect
        label={words.kind}
        data={kinds.map(kind => ({ value: kind, label: words.kindOf(kind) }))}
        {...form.getInputProps('kind')}
      />
      <TextInput
        label={words.id}
        description={words.idHint}
        required
        pattern="[A-Za-z0-9_\-]+"
        maxLength={nameMax - form.values.kind.length - 1}
        title={texts.settings.idHint}
        autoComplete="off"
        {...form.getInputProps('id')}
      />
    </FormDialog>
  )
}
