/** A list of texts that are typed or pasted: each shows what nobody would see of it, as names do elsewhere. */
import { TagsInput as MantineTagsInput, Pill, type TagsInputProps } from '@mantine/core'
import { Name } from './name.tsx'

export const TagsInput = (props: TagsInputProps) => (
  <MantineTagsInput
    {...(props.error !== undefined && props.error !== null && { 'aria-invalid': true })}
    {...props}
    renderPill={({ option, onRemove, disabled = false }) => (
      <Pill withRemoveButton={!disabled} {...(onRemove && { onRemove })} disabled={props.disabled ?? false}>
        <Name>{String(option.label)}</Name>
      </Pill>
    )}
  />
)
