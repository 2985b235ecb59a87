import { createTheme, Drawer, Modal, Notification, Popover, Tooltip } from '@mantine/core'
import { withUnseenNote } from '../parts/with-unseen-note.tsx'
import { texts } from '../texts/index.ts'

export const theme = createTheme({
  primaryColor: 'cyan',
  // Dark enough for white text on it, in both colour schemes.
  primaryShade: 9,
  defaultRadius: 'md',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif',
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    Notification: Notification.extend({
      defaultProps: { closeButtonProps: { 'aria-label': texts.common.close } },
      // Below a title Mantine's grey is too pale to be read on white.
      styles: { description: { color: 'var(--mantine-color-text)' } },
    }),
    // By its name: the first load has no fields.
    InputWrapper: {
      defaultProps: {
        inputContainer: withUnseenNote,
        // What explains a field is below it: fields of one row stand at one height, however much there is to say of each.
        inputWrapperOrder: ['label', 'input', 'description', 'error'],
      },
    },
    // Whatever is on the page is within one of its landmarks.
    Popover: Popover.extend({ defaultProps: { portalProps: { target: '#content' } } }),
    Tooltip: Tooltip.extend({ defaultProps: { portalProps: { target: '#content' } } }),
    // The page has one banner: the head of a dialog is none.
    Modal: Modal.extend({ defaultProps: { attributes: { header: { role: 'none' } } } }),
    Drawer: Drawer.extend({ defaultProps: { attributes: { header: { role: 'none' } } } }),
  },
})
