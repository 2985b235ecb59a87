/** A bar for a part of a hundred. */
import { Progress, type ProgressProps } from '@mantine/core'

/** Screen readers read the value as it is given: all digits of a quotient say nothing. */
export function ProgressBar({ value, ...props }: ProgressProps) {
  return <Progress value={Math.round(value * 10) / 10} {...props} />
}
