/** A bar for a part of a hundred. */
import { type MantineColor, Progress, type ProgressRootProps } from '@mantine/core'

export interface ProgressBarProps extends Omit<ProgressRootProps, 'color'> {
  readonly value: number
  readonly color?: MantineColor
  readonly 'aria-label': string
  /** A second part beside the first, paler. */
  readonly more?: { readonly value: number; readonly label: string }
}

/** Screen readers read the value as it is given: all digits of a quotient say nothing. */
const rounded = (value: number) => Math.round(value * 10) / 10

export function ProgressBar({ value, more, color, 'aria-label': label, ...props }: ProgressBarProps) {
  const coloured = color === undefined ? {} : { color }
  return (
    <Progress.Root className="progress" {...props}>
      <Progress.Section value={rounded(value)} {...coloured} aria-label={label} />
      {more !== undefined && (
        <Progress.Section value={rounded(more.value)} {...coloured} opacity={0.45} aria-label={more.label} />
      )}
    </Progress.Root>
  )
}
