/**
 * A text without what URLs in it have of users, passwords and tokens: "rtsp://user:secret@camera/1?key=x" →
 * "rtsp://***@camera/1?***".
 */
export function withoutCredentials(text: string): string {
  return text.replace(/\b[a-z][a-z0-9+.-]*:\/\/[^\s'"]+/gi, (url) =>
    url.replace(/^([^:]+:\/\/)[^/?#]*@/, '$1***@').replace(/\?[^#]+/, '?***'),
  )
}
