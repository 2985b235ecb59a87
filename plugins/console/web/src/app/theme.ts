import { createTheme } from '@mantine/core'

export const theme = createTheme({
  primaryColor: 'cyan',
  // Dark enough for white text on it, in both colour schemes.
  primaryShade: 9,
  defaultRadius: 'md',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif',
  cursorType: 'pointer',
})
