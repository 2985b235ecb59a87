declare module 'virtual:operations' {
  /** Method and path of each served operation. */
  export const routes: Readonly<Record<string, readonly [method: string, path: string]>>
}
