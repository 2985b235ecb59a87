/** A text field that offers what is there. Opened with one of these in it, it offers all: who opens the list again wants another. */
import { Autocomplete, type AutocompleteProps, type OptionsFilter } from '@mantine/core'
import { useRef } from 'react'

export function Suggestions({ value = '', onDropdownOpen, ...rest }: AutocompleteProps) {
  /** Text of the field when the list was opened. */
  const opened = useRef('')
  const filter: OptionsFilter = ({ options, search, limit }) => {
    if (search === opened.current && options.some(option => 'value' in option && option.value === search))
      return options
    const part = search.trim().toLowerCase()
    return options.filter(option => 'label' in option && option.label.toLowerCase().includes(part)).slice(0, limit)
  }
  return (
    <Autocomplete
      filter={filter}
      value={value}
      onDropdownOpen={() => {
        opened.current = value
        onDropdownOpen?.()
      }}
      {...rest}
    />
  )
}
