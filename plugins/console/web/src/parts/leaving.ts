/**
 * Browsers ask before a page is left on which something is unsaved or under way. That a form is answered with a file, and the page stays, they
 * learn later.
 */
const downloadMs = 2000
let staysUntil = 0

/** Before a form is sent whose answer is a file. */
export function noteDownload(): void {
  staysUntil = performance.now() + downloadMs
}

/** Whether what the browser takes for leaving is a download. */
export const isDownload = (): boolean => performance.now() < staysUntil
