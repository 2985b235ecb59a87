/** The nonce with which the page's policy lets `<style>` elements in; the server gives each page another. */
export const styleNonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? ''
