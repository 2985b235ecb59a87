/** A list that is open and draws no option is not seen: it does not take the Escape that is for the dialog. */
const taken = 'data-mantine-stop-propagation'

function letThrough({ key, target }: KeyboardEvent) {
  if (key !== 'Escape' || !(target instanceof Element) || target.getAttribute('aria-haspopup') !== 'listbox') return
  const list = document.getElementById(target.getAttribute('aria-controls') ?? '')
  if (list?.querySelector('[data-combobox-option]')) return
  target.removeAttribute(taken)
}

// Dialogs listen in the same way: this is there before the first of them.
window.addEventListener('keydown', letThrough, { capture: true })
