/** The configuration that the operations of this plugin use. */
export interface Scraping {
  /** `public`: everybody may read metrics, and no token is needed. */
  readonly authType: 'jwt' | 'public'
}

declare module 'svc/kernel' {
  interface Services {
    scraping: Scraping
  }
}
