/** Headers that tell the browser what to refuse, whatever got into the page. Sources: CSP Level 3, Fetch Metadata. */

/** Mantine puts the variables of its theme into `<style>` elements, which need the nonce. */
export function securityHeaders(styleNonce: string): Readonly<Record<string, string>> {
  const policy = [
    "default-src 'self'",
    `style-src 'self' 'nonce-${styleNonce}'`,
    "img-src 'self' data: blob:",
    "media-src 'self' blob:",
    // Archives are fetched in one.
    "frame-src 'self'",
    "object-src 'none'",
    "worker-src 'none'",
    "base-uri 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ]
  return {
    'content-security-policy': policy.join('; '),
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  }
}
